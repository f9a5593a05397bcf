"""What F_LF may measure, by name; to add one is to add an entry of `MEASURES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bife_core.measure.decisions.recorded import Decisions

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """A weighted mean over recorded decisions of what a rule's choice is worth, from 0 to 1.

    `words` say what it is, to people and to models. `of` gives the worth of each candidate, (n_rows,), 1 for those of
    the best expert score, and the positive weight of each decision, (n_decisions,).
    """

    words: str
    of: Callable[[Decisions], tuple[Floats, Floats]]


def shares(decisions: Decisions) -> Floats:
    """Return the score of each candidate over the best of its decision."""
    best_scores = np.maximum.reduceat(decisions.scores, decisions.offsets[:-1])
    highest = np.repeat(best_scores, np.diff(decisions.offsets))
    share: Floats = np.zeros_like(highest)
    np.divide(decisions.scores, highest, out=share, where=decisions.scores > 0)
    share[decisions.best] = 1.0
    return share


MEASURES: Final[Mapping[str, Measure]] = {
    "accuracy": Measure(
        "the share of recorded decisions in which the rule chooses as strong branching did",
        lambda recorded: (recorded.best.astype(np.float64), np.ones(len(recorded))),
    ),
    # A decision counts by 2^-depth: every level of a full tree counts alike.
    "depth_regret": Measure(
        "the strong-branching score of the rule's choice over the best one, on average over recorded decisions, those "
        "near the root counting more",
        lambda recorded: (shares(recorded), np.exp2(1.0 * recorded.depth.min() - recorded.depth)),
    ),
}

if TYPE_CHECKING:
    LowMeasure: TypeAlias = str
else:
    LowMeasure = Literal[tuple(MEASURES)]
