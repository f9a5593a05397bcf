"""SCIP's own branching rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyscipopt

BUILTIN_METHODS: Final = ("relpscost", "pscost", "mostinf", "fullstrong", "vanillafullstrong", "random")
"""Those that are taken by name; relpscost is reliability pseudocost branching (RPB)."""

RPB: Final = "relpscost"
"""SCIP's default, reliability pseudocost branching: the baseline."""

_MAX_PRIORITY: Final = 10_000_000


def put_in_charge(model: pyscipopt.Model, name: str) -> None:
    """Give one of `BUILTIN_METHODS` the highest priority."""
    model.setParam(f"branching/{name}/priority", _MAX_PRIORITY)
