"""What F_LF may measure, one line each in `MEASURES`; all are higher for a better rule.

F_LF is a weighted mean over decisions. What does not depend on the rule is computed once, in a `Yardstick`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from bife_core.decisions.recorded import Decisions
from bife_core.errors import DecisionsError
from bife_core.fidelity.config import LowMeasure
from bife_core.jit import jit_for
from bife_core.scip.compiled.callback import best_candidate

Ties = Literal["any", "first"]
Floats: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]

_OFFSETS: Final = types.Array(types.int64, 1, "C", readonly=True)
_SCORES: Final = types.Array(types.float64, 1, "C", readonly=True)


@jit_for(types.int64[::1](_SCORES, _OFFSETS))
def chosen_rows(scores, offsets):
    """Return the row a rule with these scores chooses in each decision, or -1 where none is a number."""
    chosen = np.empty(len(offsets) - 1, dtype=np.int64)
    for decision in range(len(chosen)):
        start = offsets[decision]
        best = best_candidate(scores[start : offsets[decision + 1]])
        chosen[decision] = start + best if best >= 0 else -1
    return chosen


def behaviour_of(chosen: Rows) -> str:
    """Return a hash of what a rule chose; rules that choose alike on the same decisions have the same."""
    return hashlib.sha256(chosen.tobytes()).hexdigest()[:16]


def _best(decisions: Decisions, ties: Ties) -> Floats:
    """1 for rows with the best expert score, or with ties `"first"` for the first of them alone."""
    best = decisions.best.astype(np.float64)
    if ties == "any":
        return best
    first = np.zeros_like(best)
    first[chosen_rows(best, decisions.offsets)] = 1.0
    return first


def _share_of_best(decisions: Decisions, ties: Ties) -> Floats:
    """Score over the best score of the decision: 1 for all best rows, and between 0 and 1 for the others."""
    best_scores = np.maximum.reduceat(decisions.scores, decisions.offsets[:-1])
    highest = np.repeat(best_scores, np.diff(decisions.offsets))
    share: Floats = np.zeros_like(highest)
    np.divide(decisions.scores, highest, out=share, where=decisions.scores > 0)
    share[decisions.best] = 1.0
    return share


def _all(decisions: Decisions) -> Floats:
    return np.ones(len(decisions))


def _by_depth(decisions: Decisions) -> Floats:
    """2^-depth, the share of a full tree that hangs on the decision: then every level of such a tree counts alike."""
    weight: Floats = np.exp2(decisions.depth.min() - decisions.depth.astype(np.float64))
    return weight


@dataclass(frozen=True)
class Measure:
    """How F_LF is measured: a weighted mean over decisions of what the rule's choice is worth.

    Attributes
    ----------
    worth : callable
        What choosing each candidate is worth, from 0 to 1.
    weight : callable
        How much each decision counts.
    """

    worth: Callable[[Decisions, Ties], Floats]
    weight: Callable[[Decisions], Floats] = _all


MEASURES: Final[Mapping[LowMeasure, Measure]] = {
    "accuracy": Measure(_best),
    "depth_regret": Measure(_share_of_best, _by_depth),
}


class Yardstick:
    """A measure of F_LF with all that it takes from the decisions.

    Parameters
    ----------
    decisions : Decisions
        At least one.
    measure : str
        A key of `MEASURES`.
    ties : {"any", "first"}
        For accuracy, whether every best-scored candidate is right or only the first.

    Raises
    ------
    DecisionsError
        If there is no decision.
    """

    def __init__(self, decisions: Decisions, measure: LowMeasure = "accuracy", ties: Ties = "any") -> None:
        if len(decisions) == 0:
            raise DecisionsError("F_LF needs at least one recorded decision; the file holds none.")
        self._measure = MEASURES[measure]
        self._offsets = decisions.offsets
        self._worth = self._measure.worth(decisions, ties)
        self._weight = self._measure.weight(decisions)

    def f_lf(self, chosen: Rows) -> float:
        """Return F_LF of a rule from the rows it chooses, see `chosen_rows`."""
        return self._mean(self._of(chosen))

    def error(self, chosen: Rows) -> float:
        """Return the standard error of that F_LF, decisions taken as independent."""
        values = self._of(chosen)
        apart = (values - self._mean(values)) * self._weight
        return math.sqrt(math.fsum(apart**2)) / math.fsum(self._weight)

    def by_chance(self) -> float:
        """Return F_LF of candidates drawn at random."""
        return self._mean(np.add.reduceat(self._worth, self._offsets[:-1]) / np.diff(self._offsets))

    def _of(self, chosen: Rows) -> Floats:
        return np.where(chosen >= 0, self._worth[chosen], 0.0)

    def _mean(self, values: Floats) -> float:
        return math.fsum(values * self._weight) / math.fsum(self._weight)
