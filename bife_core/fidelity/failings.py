"""Where a rule chooses otherwise than strong branching, in sentences for who is to improve it."""

from __future__ import annotations

from typing import Final

import numpy as np

from bife_core.decisions.recorded import Decisions
from bife_core.features import FEATURES
from bife_core.fidelity.measures import Rows

_TOLD: Final = 4
"""Features that are named."""
_LEANING: Final = 0.2
"""How much more often a feature must differ one way than the other to be named."""
_ALIKE: Final = 0.8
"""Agreement of signs from which on two features tell the same."""


def failings(decisions: Decisions, chosen: Rows) -> tuple[str, ...]:
    """Return how often the rule chose rightly at which depth, and how its wrong choices differ from the right ones.

    Parameters
    ----------
    decisions : Decisions
        At least one.
    chosen : (n_decisions,) int64
        The row the rule chose in each decision, or -1.
    """
    best = decisions.best
    right = (chosen >= 0) & best[chosen]
    sentences = [f"It chose as strong branching did in {_by_depth(decisions.depth, right)}."]
    # The first best row of each decision stands for all of them.
    firsts = np.flatnonzero(best)
    expert = firsts[np.searchsorted(firsts, decisions.offsets[:-1])]
    wrong = ~right & (chosen >= 0)
    if wrong.any():
        differences = decisions.columns[:, expert[wrong]] - decisions.columns[:, chosen[wrong]]
        leanings = _leanings(np.sign(np.nan_to_num(differences)))
        if leanings:
            sentences.append(
                f"In the {int(wrong.sum())} decisions where it chose otherwise, strong branching's candidate had "
                f"{'; '.join(leanings)}."
            )
    return tuple(sentences)


def _by_depth(depth: np.ndarray, right: np.ndarray) -> str:
    """Return shares of right choices at the root, in the upper and in the lower half of the decisions below it."""
    below = depth[depth > 0]
    middle = int(np.median(below)) if len(below) else 0
    parts = (
        ("at the root", depth == 0),
        (f"at depths 1 to {middle}" if middle > 1 else "at depth 1", (depth > 0) & (depth <= middle)),
        (f"below depth {middle}", depth > max(middle, 0)),
    )
    return ", ".join(
        f"{right[where].mean():.0%} of {int(where.sum())} decisions {name}"
        for name, where in parts
        if where.any()
    )


def _leanings(signs: np.ndarray) -> list[str]:
    """Return in which features right and wrong choices differ most one-sidedly, each telling something of its own."""
    larger, smaller = (signs > 0).mean(axis=1), (signs < 0).mean(axis=1)
    leaning = larger - smaller
    told: list[int] = []
    for index in np.argsort(-np.abs(leaning), kind="stable").tolist():
        if len(told) == _TOLD or abs(leaning[index]) < _LEANING:
            break
        own = signs[index] * np.sign(leaning[index])
        if all((own == signs[other] * np.sign(leaning[other])).mean() < _ALIKE for other in told):
            told.append(index)
    return [
        f"the {'larger' if leaning[index] > 0 else 'smaller'} {FEATURES[index].name} in "
        f"{max(larger[index], smaller[index]):.0%} (the {'smaller' if leaning[index] > 0 else 'larger'} in "
        f"{min(larger[index], smaller[index]):.0%})"
        for index in told
    ]
