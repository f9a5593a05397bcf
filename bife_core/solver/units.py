"""Units of compiled code: machine code from LLVM's text, which comes with the package, so that numba is not loaded.

`python -m bench.units` writes the text, numba's of this platform, whenever the source of a unit changes; where it is of
another source or platform numba compiles the unit, which takes ten times as long.
"""

from __future__ import annotations

import ctypes
import lzma
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from bife_core.base.native import Addresses, Source, llvm, loaded
from bife_core.solver.code_digest import COMPILED, digest_of_code, sources

_FOLDER: Final = Path(__file__).with_name("llvm")


@dataclass(frozen=True)
class Unit:
    """Functions that are compiled together: a table of them, as ``module:name``, and the places of their source."""

    name: str
    functions: str
    places: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """Hash of the source."""
        return digest_of_code(sources(self.places))

    @property
    def file(self) -> Path:
        """Where the text lies."""
        return _FOLDER / f"{self.name}.ll.xz"

    @cached_property
    def _addresses(self) -> Addresses:
        # Named alone: its package imports this module.
        libscip = resolve_name("bife_core.solver.scip.libscip")

        def in_scip(name: str) -> int | None:
            return int(libscip.address_of(name)) if name.startswith("SCIP") else None

        name = f"{self.name}-{self.digest}"
        return loaded(name, self._source, address_of=in_scip, library=libscip.library_file())

    def prepare(self) -> None:
        """Have the machine code on disk before workers start, which may not write there."""
        self._addresses  # noqa: B018

    def address(self, name: str) -> int:
        """Return the address of one of its functions."""
        return int(self._addresses(name))

    def call(self, name: str, *arguments: int) -> int:
        """Call one of them with 64-bit integers; its result is one."""
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
        return int(prototype(self.address(name))(*arguments))

    def text(self) -> str:
        """Compile by numba to LLVM's text, whose first line says what it is of, and the names of its functions."""
        from bife_core.solver.jit import llvm_text  # the compiler is loaded only where there is no text

        functions = resolve_name(self.functions)
        names = " ".join(function.__name__ for function in functions)
        return f"; {self._key} {names}\n{llvm_text(functions)}"

    @property
    def _key(self) -> str:
        return f"{self.digest} {llvm().get_process_triple()}"

    def _source(self) -> Source:
        import logging

        log = logging.getLogger(__name__)
        try:
            text = lzma.decompress(self.file.read_bytes()).decode()
            if text.startswith(f"; {self._key} "):
                llvm().parse_assembly(text)  # raises where it is of LLVM of another version
                return _source_of(text)
        except (OSError, lzma.LZMAError, RuntimeError) as error:
            log.debug("%s: %s", self.file, error)
        log.warning("Compiling %s for this machine, once: some seconds.", self.name)
        return _source_of(self.text())


def _source_of(text: str) -> Source:
    _, _, _, *names = text.split("\n", 1)[0].split()
    return Source(text, names)


FEATURES: Final = Unit("features", "bife_core.solver.scip.compiled.functions:FUNCTIONS", COMPILED)

ANNEALING: Final = Unit(
    "annealing",
    "bife_core.solver.starts.annealing:FUNCTIONS",
    ("solver/starts/annealing.py", "solver/scip/compiled/memory.py", "solver/jit.py"),
)

UNITS: Final = (FEATURES, ANNEALING)
