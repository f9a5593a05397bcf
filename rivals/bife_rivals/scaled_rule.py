"""A rule on features that are scaled to 0..1 among the candidates of a node, and RPB at the nodes that lie deep.

The published formulas of Symb4CO run so. The rule is a rule as any other, checked and compiled alike; only what it
reads differs: a feature's distance from its least value at the node, over that of its largest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import Field, field_validator

from bife_core.features import N_FEATURES
from bife_core.methods.base import RPB
from bife_core.methods.scorer import BaseScorer, Scorer
from bife_core.rules import Rejection
from bife_core.rules.compiling import check_source, recompiled
from bife_core.rules.lowering import Program
from bife_core.scip.branching import PLUGIN_NAME, BranchingStats, Guard
from bife_core.scip.solver import HIGHEST_PRIORITY

LEAST_SPREAD: Final = 1e-9
"""Values of a feature at a node that differ by no more count as equal: SCIP's own tolerance, as published."""

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
            model.setParam(f"branching/{RPB}/priority", HIGHEST_PRIORITY - 1)
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
        _program(source)
        return source

    @property
    def features(self) -> frozenset[int]:
        """Columns the rule reads."""
        return _program(self.source).features

    @property
    def address(self) -> int:
        """Address of the rule's machine code, scaling included."""
        return int(_compiled(self.source).address)

    def score(self, X: Floats) -> Floats:
        """Score the candidates of one node."""
        return recompiled(self.source, self.name).score(scaled(np.asarray(X, dtype=np.float64)))


@lru_cache(maxsize=256)
def _program(source: str) -> Program:
    program = check_source(source)
    if isinstance(program, Rejection):
        raise ValueError(program.reason)
    return program


@lru_cache(maxsize=256)
def _compiled(source: str) -> Any:
    """Return a C function that finds each feature's range at the node, and scores candidate by candidate."""
    import numba  # here, for methods are loaded where nothing is compiled
    from numba.types import CPointer, float64, int64

    program = _program(source)
    njit = numba.njit(error_model="numpy")
    read = sorted(program.features)
    ranges = [f"    low{i} = high{i} = X[0, {i}]" for i in read]
    widen = [f"        low{i}, high{i} = min(low{i}, X[r, {i}]), max(high{i}, X[r, {i}])" for i in read]
    spreads = [f"    w{i} = high{i} - low{i} if high{i} - low{i} > {LEAST_SPREAD} else 1.0" for i in read]
    arguments = ", ".join(f"(X[r, {i}] - low{i}) / w{i}" for i in read)
    loop = "\n".join(
        [
            "def score_node(matrix, n, out):",
            f"    X, scores = carray(matrix, (n, {N_FEATURES})), carray(out, (n,))",
            "    if n == 0:",
            "        return 0",
            *ranges,
            "    for r in range(n):",
            *(widen or ["        pass"]),
            *spreads,
            "    for r in range(n):",
            f"        scores[r] = rule({arguments})",
            "    return 0",
        ]
    )
    scope: dict[str, Any] = {"np": np, "math": math, "carray": numba.carray, "__builtins__": __builtins__}
    given = len(scope)
    # The program knows numbers only, whatever the text of the rule says: see `bife_core.rules.lowering`.
    exec(compile(program.text, "<rule>", "exec"), scope)
    for name in list(scope)[given:]:
        scope[name] = scope["rule"] = njit(scope[name])
    exec(compile(loop, "<node>", "exec"), scope)
    return numba.cfunc(int64(CPointer(float64), int64, CPointer(float64)), error_model="numpy")(
        scope["score_node"]
    )
