"""Calls a worker serves to show how rules behave inside it; `bife doctor` and the tests use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules.compiling import compile_rule
from bife_core.rules.types import Rejection


def score_one(source: str, value: float) -> dict[str, Any]:
    """Compile a rule in this worker and score one candidate whose features all have the same value.

    Returns
    -------
    dict
        `score`, whether the rule is `native`, and how many `children` processes the worker has.

    Raises
    ------
    RuleError
        If the rule is refused or raises.
    """
    rule = compile_rule(source)
    if isinstance(rule, Rejection):
        raise RuleError(rule.reason)
    score = float(rule.score(np.full((1, N_FEATURES), value))[0])
    return {"native": rule.native, "score": score, "children": _children()}


def _children() -> int:
    # Not by way of psutil, which asks all processes; a worker may look at itself only.
    lists = Path("/proc/self/task").glob("*/children")
    return sum(len(children.read_text().split()) for children in lists)
