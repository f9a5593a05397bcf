"""What rules choose in recorded decisions, and F_LF by one of `MEASURES`."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from bife_core.base.errors import DecisionsError, RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.rules import CompiledRule
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low_measures import MEASURES, Floats, LowMeasure, shares
from bife_core.solver.methods.scorer import BaseScorer
from bife_core.solver.scip.node import Node
from bife_core.solver.units import FEATURES

Rows: TypeAlias = npt.NDArray[np.int64]

_WIDTH: Final = BRANCHING.n_features

_LETTERS: Final = np.array([*string.ascii_letters, *string.digits])
"""Stand for a candidate's place in its decision; beyond them they repeat, which two rules hardly ever differ by."""


def score_columns(address: int, columns: Floats, offsets: Rows, features: Rows, scores: Floats) -> bool:
    """Write the scores of all candidates by the machine code at an address, which reads some `features`.

    `columns` is (n_features, n) float64, `scores` (n,) float64. Return whether the code succeeded.
    """
    columns, offsets = np.ascontiguousarray(columns), np.ascontiguousarray(offsets)
    block = np.zeros((int(np.diff(offsets).max(initial=0)), _WIDTH))
    decisions = (columns.ctypes.data, columns.shape[1], offsets.ctypes.data, len(offsets) - 1)
    read = (features.ctypes.data, len(features), block.ctypes.data, _WIDTH)
    return FEATURES.call("score_columns", address, *decisions, *read, scores.ctypes.data) == 0


def scores_of(
    rule: CompiledRule | BaseScorer, decisions: Decisions, nodes: Iterable[Node] | None = None
) -> Floats:
    """Return the scores of all candidates, a `NodeMethod`'s by the `nodes`; a `RuleError` says that it fails on one."""
    score: Callable[[Any], Any] = rule.score
    try:
        if nodes is not None:
            scores = np.concatenate([np.asarray(score(node), dtype=np.float64) for node in nodes])
        elif rule.address:
            used = sorted(range(_WIDTH) if rule.features is None else rule.features)
            scores = np.empty(decisions.n_candidates)
            read = np.array(used, dtype=np.int64)
            if not score_columns(rule.address, decisions.columns, decisions.offsets, read, scores):
                raise ArithmeticError("the code at its address returned an error")
        else:
            matrices = np.split(decisions.matrix, decisions.offsets[1:-1])
            scores = np.concatenate([np.asarray(score(X), dtype=np.float64) for X in matrices])
    except Exception as error:  # the code of others
        what = f"{type(error).__name__}: {error}"
        raise RuleError(f"{rule.name} raised while scoring recorded candidates: {what}.") from error
    if scores.shape != (decisions.n_candidates,):
        wanted = f"one score per candidate, {decisions.n_candidates} in all"
        raise RuleError(f"{rule.name} must return {wanted}, and returned an array of shape {scores.shape}.")
    return scores


def chosen_rows(scores: Floats, offsets: Rows) -> Rows:
    """Return the row of the first largest score in each decision, or -1 where none is a number."""
    scores, offsets = np.ascontiguousarray(scores, np.float64), np.ascontiguousarray(offsets, np.int64)
    chosen = np.empty(len(offsets) - 1, dtype=np.int64)
    FEATURES.call("chosen_rows", scores.ctypes.data, offsets.ctypes.data, len(chosen), chosen.ctypes.data)
    return chosen


def behaviour_of(chosen: Rows, offsets: Rows) -> str:
    """Return a letter for each decision that says which candidate a rule chose, "-" for none; see `likeness`."""
    places = (chosen - offsets[:-1]) % len(_LETTERS)
    return "".join(np.where(chosen >= 0, _LETTERS[places], "-"))


class Yardstick:
    """A measure of F_LF on given decisions; raises `DecisionsError` if there are none."""

    def __init__(self, decisions: Decisions, measure: LowMeasure = "accuracy") -> None:
        if len(decisions) == 0:
            raise DecisionsError("F_LF needs at least one recorded decision; the file holds none.")
        self._shares, self._weight = MEASURES[measure].of(decisions)
        self._decisions = decisions

    @cached_property
    def _share(self) -> Floats:
        return shares(self._decisions)  # searches that fit rules make yardsticks and ask for no regret

    def f_lf(self, chosen: Rows) -> float:
        """Return F_LF of a rule from the rows it chooses, see `chosen_rows`."""
        values = np.where(chosen >= 0, self._shares[chosen], 0.0)
        return math.fsum(values * self._weight) / math.fsum(self._weight)

    def of_scores(self, scores: Floats) -> float:
        """Return F_LF of a rule from the score it gives each candidate."""
        return self.f_lf(chosen_rows(scores, self._decisions.offsets))

    def regret(self, chosen: Rows) -> float:
        """Return the share of the best score that a decision's choice misses, on average over the decisions."""
        return float(1.0 - np.where(chosen >= 0, self._share[chosen], 0.0).mean())
