"""Which candidate a rule chooses, while SCIP branches and in recorded decisions."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled.memory import call_scorer, float64_view, int64_view


@jit
def best_candidate(scores, finite=False):
    """Return the position of the first largest score above -inf; -1 without one or, if `finite`, a finite score."""
    best = -1
    highest = -np.inf
    usable = not finite
    for c in range(len(scores)):
        usable |= np.isfinite(scores[c])
        if scores[c] > highest:  # false for NaN
            highest = scores[c]
            best = c
    return best if usable else -1


@jit
def chosen_rows(scores, offsets, decisions, chosen):
    """Write the row of the first largest score in each decision, or -1 where none is a number."""
    ends = int64_view(offsets, decisions + 1)
    rows = int64_view(chosen, decisions)
    for decision in range(decisions):
        start = ends[decision]
        best = best_candidate(float64_view(scores + 8 * start, ends[decision + 1] - start))
        rows[decision] = start + best if best >= 0 else -1
    return 0


@jit
def score_columns(scorer, columns, rows, offsets, decisions, used, n_used, block, width, scores):
    """Score one decision after the other; only the columns in `used` are copied into the `block` of full rows."""
    ends, features = int64_view(offsets, decisions + 1), int64_view(used, n_used)
    for decision in range(decisions):
        start = ends[decision]
        size = ends[decision + 1] - start
        matrix = float64_view(block, size * width)
        for k in range(n_used):
            column = float64_view(columns + 8 * (features[k] * rows + start), size)
            for row in range(size):
                matrix[row * width + features[k]] = column[row]
        if call_scorer(scorer, block, size, scores + 8 * start) != 0:
            return 1
    return 0
