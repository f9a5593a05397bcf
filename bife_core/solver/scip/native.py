"""Feature extractor and branching callback as machine code, which numba compiles once for each machine."""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from typing import Any

from bife_core.base.native import ObjectCode, kept
from bife_core.solver.code_digest import code_digest
from bife_core.solver.scip.libscip import address_of, scip_version


@cache
def _addresses() -> Any:
    return kept(f"features-{code_digest()}-{scip_version()}", _built).load(_in_scip)


def prepare() -> None:
    """Have the machine code on disk before workers start, which may not write there."""
    _addresses()


def _built() -> ObjectCode:
    logging.getLogger(__name__).warning(
        "Compiling the feature extractor for this machine, once: some seconds."
    )
    # The compiler is loaded only where there is no machine code yet.
    from bife_core.solver.jit import object_code
    from bife_core.solver.scip.compiled.functions import FUNCTIONS

    return object_code(FUNCTIONS)


def _in_scip(name: str) -> int | None:
    return address_of(name) if name.startswith("SCIP") else None


@cache
def address(name: str) -> int:
    """Return the address of one of `compiled.functions.FUNCTIONS`."""
    return int(_addresses()(name))


def call(name: str, *arguments: int) -> int:
    """Call one of them with 64-bit integers; its result is one."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    return int(prototype(address(name))(*arguments))
