"""A call a worker serves to show that rules run inside it; `bife doctor` and the tests use it."""

from __future__ import annotations

import numpy as np

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules.compiling import compile_rule
from bife_core.rules.types import Rejection


def score_one(source: str, value: float) -> dict[str, float]:
    """Compile a rule in this worker and return its `score` of a candidate whose features all have the same value.

    Raises
    ------
    RuleError
        If the rule is rejected or raises.
    """
    rule = compile_rule(source)
    if isinstance(rule, Rejection):
        raise RuleError(rule.reason)
    return {"score": float(rule.score(np.full((1, N_FEATURES), value))[0])}
