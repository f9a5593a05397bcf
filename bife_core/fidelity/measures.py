"""What F_LF may measure, one line each in `MEASURES`; all are higher for a better rule.

F_LF is a weighted mean over decisions. Each gets a value from what the rule chose, or from how it ordered the
candidates, and counts by a weight: 1 and 0 choose decisions, anything else says how much hangs on them. What does not
depend on the rule is computed once, in a `Yardstick`.
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

from bife_core.decisions.recorded import SCORE_TOLERANCE, Decisions
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


@jit_for(types.float64[::1](_SCORES, _OFFSETS, types.float64))
def _unit_ranks(values, offsets, tolerance):
    """Return the mean ranks of finite values in each decision, centred and of length 1, or 0 if all are equal.

    Counted, not sorted: one plain loop, fast for the hundreds of candidates there are.
    """
    ranks = np.empty(len(values))
    for decision in range(len(offsets) - 1):
        own = values[offsets[decision] : offsets[decision + 1]]
        found = ranks[offsets[decision] : offsets[decision + 1]]
        squares = 0.0
        for row in range(len(own)):
            margin = tolerance * abs(own[row])
            low, high = own[row] - margin, own[row] + margin
            above = 0
            for other in range(len(own)):
                above += (own[other] < low) - (own[other] > high)
            found[row] = above
            squares += found[row] * found[row]
        if squares > 0.0:
            found /= np.sqrt(squares)
    return ranks


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


def _expert_ranks(decisions: Decisions, ties: Ties) -> Floats:
    ranks: Floats = _unit_ranks(decisions.scores, decisions.offsets, SCORE_TOLERANCE)
    return ranks


def _all(decisions: Decisions) -> Floats:
    return np.ones(len(decisions))


def _genuine(decisions: Decisions) -> Floats:
    return decisions.genuine.astype(np.float64)


def _by_depth(decisions: Decisions) -> Floats:
    """2^-depth, the share of a full tree that hangs on the decision: then every level of such a tree counts alike."""
    weight: Floats = np.exp2(decisions.depth.min() - decisions.depth.astype(np.float64))
    return weight


def _ordered(decisions: Decisions) -> Floats:
    """1 where the expert's scores differ, so that there is an order to agree with."""
    ranks = _expert_ranks(decisions, "any")
    return np.maximum.reduceat(ranks, decisions.offsets[:-1]).astype(bool).astype(np.float64)


def _of_chosen(worth: Floats, scores: Floats, chosen: Rows, offsets: Rows) -> Floats:
    return np.where(chosen >= 0, worth[chosen], 0.0)


def _correlation(worth: Floats, scores: Floats, chosen: Rows, offsets: Rows) -> Floats:
    ranks = _unit_ranks(np.nan_to_num(scores, nan=-np.finfo(np.float64).max), offsets, 0.0)
    return np.asarray(np.add.reduceat(worth * ranks, offsets[:-1])).clip(-1.0, 1.0)


@dataclass(frozen=True)
class Measure:
    """How F_LF is measured.

    Attributes
    ----------
    worth : callable
        What the decisions say of each candidate: what choosing it is worth, or the expert's rank.
    weight : callable
        How much each decision counts.
    value : callable
        The value of each decision, from the worth, the rule's scores, its choices and the decisions' offsets.
    without : str
        What can be said of decisions that all have no weight.
    """

    worth: Callable[[Decisions, Ties], Floats]
    weight: Callable[[Decisions], Floats] = _all
    value: Callable[[Floats, Floats, Rows, Rows], Floats] = _of_chosen
    without: str = ""


MEASURES: Final[Mapping[LowMeasure, Measure]] = {
    "agreement": Measure(_best),
    "genuine": Measure(_best, _genuine, without="in each a child of some candidate was cut off"),
    "regret": Measure(_share_of_best),
    "depth_regret": Measure(_share_of_best, _by_depth),
    "rank": Measure(_expert_ranks, _ordered, _correlation, without="in each all candidates score alike"),
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
        For agreement, whether every best-scored candidate is right or only the first.

    Raises
    ------
    DecisionsError
        If there is no decision, or none that the measure gives a weight.
    """

    def __init__(self, decisions: Decisions, measure: LowMeasure = "agreement", ties: Ties = "any") -> None:
        if len(decisions) == 0:
            raise DecisionsError("F_LF needs at least one recorded decision; the file holds none.")
        self._measure = MEASURES[measure]
        self._offsets = decisions.offsets
        self._worth = self._measure.worth(decisions, ties)
        self._weight = self._measure.weight(decisions)
        if not self._weight.any():
            raise DecisionsError(
                f"F_LF by {measure!r} has no decision to go by: {self._measure.without}, {len(decisions)} in all. "
                "Record more decisions, or choose another low.measure."
            )

    def f_lf(self, scores: Floats, chosen: Rows) -> float:
        """Return F_LF of a rule from its scores of all candidates and `chosen_rows` of them."""
        return self._mean(self._measure.value(self._worth, scores, chosen, self._offsets))

    def error(self, scores: Floats, chosen: Rows) -> float:
        """Return the standard error of that F_LF, decisions taken as independent."""
        values = self._measure.value(self._worth, scores, chosen, self._offsets)
        apart = (values - self._mean(values)) * self._weight
        return math.sqrt(math.fsum(apart**2)) / math.fsum(self._weight)

    def by_chance(self) -> float:
        """Return F_LF of candidates drawn at random."""
        return self._mean(np.add.reduceat(self._worth, self._offsets[:-1]) / np.diff(self._offsets))

    def _mean(self, values: Floats) -> float:
        return math.fsum(values * self._weight) / math.fsum(self._weight)
