"""Feature extractor and branching callback as machine code, made once for each machine."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from bife_core.solver.scip.libscip import address_of
from bife_core.solver.units import FEATURES


@cache
def _addresses() -> Any:
    return FEATURES.load(_in_scip)


def prepare() -> None:
    """Have the machine code on disk before workers start, which may not write there."""
    _addresses()


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
