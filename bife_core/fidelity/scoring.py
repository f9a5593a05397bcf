"""The score a rule gives to every recorded candidate."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from bife_core.decisions.recorded import Decisions
from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.jit import jit_for
from bife_core.scip.compiled.memory import call_scorer
from bife_core.scip.python_branching import Scoring

_READ_ONLY_ROWS: Final = types.Array(types.float64, 2, "C", readonly=True)

_BLOCK: Final = 256
"""Rows scored at a time: their features then stay in the processor's cache."""


@jit_for(types.boolean(types.int64, _READ_ONLY_ROWS, types.int64[::1], types.float64[::1]))
def score_columns(scorer, columns, used, scores):
    """Score all rows, copying only the columns the rule reads into a block of full rows."""
    block = np.zeros((_BLOCK, N_FEATURES))
    n_rows = columns.shape[1]
    start = 0
    while start < n_rows:
        size = min(_BLOCK, n_rows - start)
        for feature in used:
            for row in range(size):
                block[row, feature] = columns[feature, start + row]
        if call_scorer(scorer, block.ctypes.data, size, scores.ctypes.data + 8 * start) != 0:
            return False
        start += size
    return True


def scores_of(rule: Scoring, decisions: Decisions) -> npt.NDArray[np.float64]:
    """Return the rule's score of every recorded candidate.

    Raises
    ------
    RuleError
        If the rule raises on a candidate.
    """
    if not rule.address:  # a scorer in Python
        try:
            given = np.ascontiguousarray(rule.score(decisions.matrix), dtype=np.float64)
        except Exception as error:  # the code of others
            raise RuleError(
                f"{rule.name} raised while scoring recorded candidates: {type(error).__name__}: {error}."
            ) from error
        if given.shape != (decisions.n_candidates,):
            raise RuleError(
                f"{rule.name} must return one score per candidate, {decisions.n_candidates} in all, and returned an "
                f"array of shape {given.shape}."
            )
        return given
    used = np.array(sorted(range(N_FEATURES) if rule.features is None else rule.features), dtype=np.int64)
    scores = np.empty(decisions.n_candidates)
    if not score_columns(rule.address, decisions.columns, used, scores):
        rule.score(decisions.matrix)  # raises too, and says on which candidate
        raise RuleError(
            f"The rule {rule.name!r} raised while scoring recorded candidates, but not a second time."
        )
    return scores
