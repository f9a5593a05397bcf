"""SCIP's own branching rules."""

from __future__ import annotations

from typing import Final

BUILTIN_BRANCHERS: Final = ("relpscost", "pscost", "mostinf", "fullstrong", "vanillafullstrong", "random")
"""SCIP's own branching rules that `solve` takes by name; relpscost is reliability pseudocost branching (RPB)."""

RPB: Final = "relpscost"
"""SCIP's default, reliability pseudocost branching: the baseline."""
