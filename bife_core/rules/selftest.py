"""Calls a worker serves to show how rules behave inside it; `bife doctor` and the tests use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]

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
    return {"native": rule.native, "score": score, "children": len(psutil.Process().children())}
