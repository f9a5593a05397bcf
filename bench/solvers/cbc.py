"""CBC, the program that `cbcbox` brings. A run that only reads is subtracted, as the program cannot say it apart."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bife_core.measure.peers import cpu_s_of, serve


def cbc(file: str, gap: float | None, seed: int) -> Iterator[Any]:
    import cbcbox

    program = cbcbox.cbc_bin_path()
    with TemporaryDirectory() as folder:
        read_s = run([program, file, "-quit"])[1]
        yield
        answer = Path(folder) / "answer.sol"
        # CBC's own limit is left out: it also ends 0 without a proof. SIGXCPU ends the program.
        options = ["-threads", "0", "-randomSeed", str(seed + 1), "-randomCbcSeed", str(seed + 1)]
        if gap is not None:
            options += ["-ratioGap", str(gap), "-allowableGap", str(gap)]
        code, spent_s = run([program, file, *options, "-solve", "-solution", str(answer), "-quit"])
        first = answer.read_text().partition("\n")[0] if answer.is_file() else ""
    yield {
        **status_of(first, code),
        "cpu_s": max(spent_s - read_s, 0.0),
        "process_s": spent_s,
    }


def run(command: list[str]) -> tuple[int, float]:
    """Return exit code and CPU seconds of a program."""
    before_s = cpu_s_of()
    return subprocess.run(command, capture_output=True).returncode, cpu_s_of() - before_s


def status_of(line: str, code: int) -> dict[str, Any]:
    """Return status and objective from the first line of a solution: the exit code is 0 whatever the outcome."""
    if code < 0:
        return {"status": "limit", "reason": f"signal {-code}"}
    value = re.search(r"objective value\s+(\S+)", line)
    if line.startswith("Optimal") and value:
        return {"status": "optimal", "objective": float(value[1])}
    if line.startswith(("Infeasible", "Integer infeasible")):
        return {"status": "infeasible"}
    return {"status": line.strip() or "failed", "reason": f"exit code {code}"}


if __name__ == "__main__":
    serve(cbc)
