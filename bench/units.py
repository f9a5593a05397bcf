"""Write the LLVM text of compiled code that comes with the package: `python -m bench.units`, on Linux on x86-64.

Prints {unit, bytes, numba_s}: the size of the file, and CPU seconds that a user's first solve does not spend on numba.
A file of the same source stays as it is: numba's text differs a little from run to run.
"""

from __future__ import annotations

import lzma
import time

from bench import emit
from bife_core.solver.units import UNITS


def main() -> None:
    """Compile each unit by numba."""
    for unit in UNITS:
        started = time.process_time()
        text = unit.text()
        compiled_s = time.process_time() - started
        of_source = text.partition("\n")[0]
        if (
            unit.file.exists()
            and of_source == lzma.decompress(unit.file.read_bytes()).decode().partition("\n")[0]
        ):
            continue
        unit.file.parent.mkdir(exist_ok=True)
        unit.file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        emit({"unit": unit.name, "bytes": unit.file.stat().st_size, "numba_s": round(compiled_s, 1)})


if __name__ == "__main__":
    main()
