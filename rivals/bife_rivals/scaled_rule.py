"""A rule on features that are scaled to 0..1 among the candidates of a node, and RPB at the nodes that lie deep.

The published formulas of Symb4CO run so. The rule is a rule as any other, checked and compiled alike; only what it
reads differs: a feature's distance from its least value at the node, over that of its largest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import Field, field_validator

from bife_core import FEATURES, BranchingStats, CompiledRule, Guard, Rejection, Scorer, compile_rule
from bife_core.extend import PLUGIN_NAME, RPB, BaseScorer, check_source, put_in_charge

LEAST_SPREAD: Final = 1e-9
"""Values of a feature at a node that differ by no more count as equal: SCIP's own tolerance, as published."""

_WIDTH: Final = len(FEATURES)
Floats = npt.NDArray[np.float64]


def scaled(X: Floats) -> Floats:
    """Return the features of the candidates of a node, in rows, each scaled to 0..1; those that are equal become 0."""
    lowest = X.min(axis=0, keepdims=True)
    spread = X.max(axis=0, keepdims=True) - lowest
    values: Floats = (X - lowest) / np.where(spread > LEAST_SPREAD, spread, 1.0)
    return values


Depth = Annotated[
    int | None, Field(ge=1, description="Depth of the nodes from which on RPB branches; None for none.")
]


class Shallow(BaseScorer):
    """Base of scorers that branch above a depth of the tree."""

    depth: Depth

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats:
        """Let the scorer choose above the depth, and RPB from there on."""
        stats = super().attach(model, guard)
        if self.depth is not None:
            model.setParam(f"branching/{PLUGIN_NAME}/maxdepth", self.depth - 1)
            put_in_charge(model, PLUGIN_NAME, RPB)
        return stats


class ScaledRule(Shallow, Scorer):
    """A branching rule by its `source`, which reads scaled features, above a depth of the tree.

    Examples
    --------
    >>> rule = ScaledRule(name="gain", source="def candidate_variable_score(f): return f[20] + f[21]", depth=8)
    >>> sorted(rule.features)
    [20, 21]
    """

    kind: Literal["scaled_rule"] = "scaled_rule"
    source: str = Field(description="Text of a rule.")
    depth: Depth = 16

    @field_validator("source")
    @classmethod
    def _is_allowed(cls, source: str) -> str:
        _features(source)
        return source

    @property
    def features(self) -> frozenset[int]:
        """Columns the rule reads."""
        return _features(self.source)

    @property
    def address(self) -> int:
        """Address of the rule's machine code, scaling included."""
        return int(_compiled(self.source).address)

    def score(self, X: Floats) -> Floats:
        """Score the candidates of one node."""
        return _rule(self.source).score(scaled(np.asarray(X, dtype=np.float64)))


@lru_cache(maxsize=256)
def _features(source: str) -> frozenset[int]:
    program = check_source(source)
    if isinstance(program, Rejection):
        raise ValueError(program.reason)
    return program.features


@lru_cache(maxsize=256)
def _rule(source: str) -> CompiledRule:
    rule = compile_rule(source)
    assert isinstance(rule, CompiledRule), rule.reason
    return rule


@lru_cache(maxsize=256)
def _compiled(source: str) -> Any:
    """Return a C function that scales what the rule reads among the candidates, and has the rule score that."""
    import numba  # here, for methods are loaded where nothing is compiled
    from numba.types import int64

    from bife_core.extend import call_scorer, float64_view

    rule = _rule(source).address
    read = np.array(sorted(_features(source)), dtype=np.int64)

    def score_node(matrix: int, n: int, out: int) -> Any:
        X = float64_view(matrix, n * _WIDTH).reshape((n, _WIDTH))
        scaled = np.zeros((n, _WIDTH))
        for i in read:
            low, high = np.inf, -np.inf
            for r in range(n):
                low, high = min(low, X[r, i]), max(high, X[r, i])
            spread = high - low if high - low > LEAST_SPREAD else 1.0
            for r in range(n):
                scaled[r, i] = (X[r, i] - low) / spread
        return call_scorer(rule, scaled.ctypes.data, n, out)

    return numba.cfunc(int64(int64, int64, int64), error_model="numpy")(score_node)
