"""Where a rule chooses otherwise than strong branching, in sentences for who is to improve it."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from bife_core.decisions.recorded import Decisions
from bife_core.features import FEATURES
from bife_core.fidelity.measures import Floats, Rows
from bife_core.jit import jit_for

_TOLD: Final = 4
"""Features that are named."""
_APART: Final = 0.05
"""How far the mean places in a feature must lie apart for it to be named, at least."""
_ERRORS: Final = 3.0
"""How many standard errors they must lie apart."""
_ALIKE: Final = 0.8
"""Agreement of signs from which on two features tell the same."""

_COLUMNS: Final = types.Array(types.float64, 2, "C", readonly=True)
_ROWS: Final = types.Array(types.int64, 1, "C", readonly=True)


@jit_for(types.float64[:, ::1](_COLUMNS, _ROWS, _ROWS))
def _places(columns, offsets, chosen):
    """Return how many of the other candidates a row's value exceeds, as a share, by feature and decision.

    Equal values count half; a decision without a choice, or with one candidate, has 0.5.
    """
    found = np.full((len(columns), len(chosen)), 0.5)
    for feature in range(len(columns)):
        values = columns[feature]
        for decision in range(len(chosen)):
            start, end = offsets[decision], offsets[decision + 1]
            if chosen[decision] >= 0 and end > start + 1:
                own = values[chosen[decision]]
                below, equal = 0, -1
                for row in range(start, end):
                    below += values[row] < own
                    equal += values[row] == own
                found[feature, decision] = (below + 0.5 * equal) / (end - start - 1)
    return found


def failings(decisions: Decisions, chosen: Rows) -> tuple[str, ...]:
    """Return how often the rule chose rightly at which depth, and by what its choices differ from strong branching's.

    Each choice is held against all candidates of its node. Held against each other alone, the right candidate would
    have less of whatever the rule rewards, however good that is, for no other has more of it than the rule's choice.
    For the same reason a feature is left out in which the rule's choice only stands farther out on the same side.

    Parameters
    ----------
    decisions : Decisions
        At least one.
    chosen : (n_decisions,) int64
        The row the rule chose in each decision, or -1.
    """
    best = decisions.best
    right = np.asarray((chosen >= 0) & best[chosen])
    sentences = [f"It chose as strong branching did in {_by_depth(decisions.depth, right)}."]
    # The first best row of each decision stands for all of them, unless the rule chose another.
    firsts = np.flatnonzero(best)
    expert = np.where(right, chosen, firsts[np.searchsorted(firsts, decisions.offsets[:-1])])
    wrong = ~right & (chosen >= 0)
    if wrong.any():
        # Of what is nowhere positive the size is told: its "larger" would be read as "farther from 0".
        size = np.all(decisions.columns <= 0, axis=1)
        theirs, own = (
            np.abs(_places(decisions.columns, decisions.offsets, rows)[:, chosen >= 0] - size[:, np.newaxis])
            for rows in (expert, chosen)
        )
        named = [
            f"at {theirs[index].mean():.2f} and {own[index].mean():.2f} by "
            f"{'the size of ' if size[index] else ''}{FEATURES[index].name}"
            for index in _apart(theirs, own, wrong[chosen >= 0])
        ]
        if named:
            sentences.append(
                "Among the candidates of a node, from 0 for the smallest to 1 for the largest, strong branching's "
                f"choice and the rule's stand on average {', '.join(named)}."
            )
    return tuple(sentences)


def _by_depth(depth: np.ndarray, right: np.ndarray) -> str:
    """Return how many choices are right at the root, in the upper and in the lower half of the decisions below it."""
    below = depth[depth > 0]
    middle = int(np.median(below)) if len(below) else 0
    parts = (
        ("at the root", depth == 0),
        (f"at depths 1 to {middle}" if middle > 1 else "at depth 1", (depth > 0) & (depth <= middle)),
        (f"below depth {middle}", depth > max(middle, 0)),
    )
    return ", ".join(
        f"{int(right[where].sum())} of {int(where.sum())} decisions {name}"
        for name, where in parts
        if where.any()
    )


def _apart(theirs: Floats, own: Floats, wrong: np.ndarray) -> list[int]:
    """Return the features in which places differ most in the mean, and surely, each telling something of its own."""
    differences = theirs - own
    mean = differences.mean(axis=1)
    error = differences.std(axis=1) / np.sqrt(differences.shape[1])
    side = np.sign(theirs.mean(axis=1) - 0.5)
    overdone = side * (own.mean(axis=1) - theirs.mean(axis=1)) > 0
    clear = ~overdone & (np.abs(mean) >= np.maximum(_APART, _ERRORS * error))
    signs = np.sign(differences[:, wrong]) * np.sign(mean)[:, np.newaxis]
    told: list[int] = []
    # Rounded, for of features that repeat each other the first is to be told.
    for index in np.argsort(-np.abs(mean).round(3), kind="stable").tolist():
        if len(told) == _TOLD:
            break
        if clear[index] and all((signs[index] == signs[other]).mean() < _ALIKE for other in told):
            told.append(index)
    return told
