"""Methods that score candidates, rules and networks among them; SCIP branches on that of the highest score."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import Field

from bife_core.base.plugins import code_revision
from bife_core.base.values import digest_of
from bife_core.language.components import BRANCHING, Component, component_of
from bife_core.language.rules.compiling import recompiled, rule_sha
from bife_core.language.rules.types import CompiledRule
from bife_core.solver.methods.base import RPB, AnyMethod, Method, ScipMethod
from bife_core.solver.scip.branching import BranchingStats, Budget, Guard, attach_scorer
from bife_core.solver.scip.node import Node


class BaseScorer(Method):
    """What scorers of candidates and of nodes have in common."""

    budget: Budget | None = Field(None, description="What RPB may strong-branch before the scorer branches.")

    @property
    def identity(self) -> str:
        """Hash of all fields but the name, and of a plugin's code."""
        left_out = {"name"} if self.budget is not None else {"name", "budget"}
        return digest_of([self.model_dump(mode="json", exclude=left_out), code_revision(type(self))])

    @property
    def features(self) -> frozenset[int] | None:
        """Columns it reads; None reads all."""
        return None

    @property
    def observes(self) -> int:
        """What it sees of the node besides features, a constant of `bipartite`."""
        return 0

    @property
    def data(self) -> int:
        """Address of what lasts as long as the process, such as weights, for machine code; 0 for none."""
        return 0

    @property
    def address(self) -> int:
        """Address of the C function ``int64_t score(const void *shown, int64_t n, double *out)``, or 0 for none.

        It returns 0, or 1 if it failed, must need no Python lock, and must be valid for as long as the scorer is
        referred to.
        """
        return 0

    @abstractmethod
    def score(self, shown: Any, /) -> npt.NDArray[np.float64]:
        """Return a score per candidate of what is shown."""

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats:
        """Let the scorer choose whenever an LP solution is branched on; see `bife_core.attach`."""
        return attach_scorer(model, self, guard, self.budget)


class Scorer(BaseScorer):
    """Base of methods that score candidates by their features: write `score`, and give `kind` a default.

    `score` is called from Python at every branching. A scorer that has machine code gives its `address`, which is shown
    X, row-major, n x `n_features`; one that reads some features only names them in `features`.
    """

    @abstractmethod
    def score(self, X: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:
        """Return a score per candidate, higher is better; where none is a number SCIP's next branching rule takes over.

        `X` has a row per candidate of one node, in the order of `bife_core.language.features.FEATURES`; columns that
        `features` leaves out are 0.
        """


class NodeMethod(BaseScorer):
    """Base of methods that see the node, as networks do: write `score`, and give `kind` a default.

    `score` is called from Python at every branching, unless machine code is given by `address`. Statistics, guard and
    budget are those of a `Scorer`. `features` and `graph` say what is computed.

    Machine code is shown words, addresses of the arrays of a `Node` and numbers: 0 features; 1 variables, 2 how many;
    3 candidates; 4 rows, 5 how many; 6 edge_starts, 7 edge_variables, 8 edge_values; 9 first; 10 depth; 11 `data`;
    12 address of two words that are the scorer's for the life of the model: an address that `realloc` gave, which is
    freed in the end, and a number. Both are 0 before it sets them.
    """

    @property
    def features(self) -> frozenset[int] | None:
        """Columns of `Node.features` it reads; None reads all, and by default it reads none."""
        return frozenset()

    @property
    def graph(self) -> Literal["never", "first", "always"]:
        """Where it sees the whole graph: nowhere, at the first node of a solve it is asked at, or always.

        Elsewhere a node has no rows, and features of the candidates' variables alone.
        """
        return "always"

    @property
    def observes(self) -> int:
        """`graph` as the extractor takes it."""
        from bife_core.solver.scip.compiled.bipartite import ALWAYS, CANDIDATES, FIRST

        return {"never": CANDIDATES, "first": FIRST, "always": ALWAYS}[self.graph]

    @abstractmethod
    def score(self, node: Node, /) -> npt.NDArray[np.float64]:
        """Return a score per candidate, higher is better, as `Scorer.score` does."""


class Written(Method):
    """What rules have in common, whatever component they are of: a Python `source`, checked and compiled where used."""

    source: str = Field(description="Text that defines the component's function, in the language of rules.")

    @property
    def component(self) -> Component:
        """What it is a rule of."""
        return component_of(self.source)

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether the source says all."""

    @property
    def sha(self) -> str:
        """The rule's hash; a `RuleError` says if the source is no usable rule."""
        return _sha(self.source, self.component)

    @property
    def text(self) -> str:
        """The source, or JSON where there is more."""
        return self.source if self.plain else super().text

    @property
    def shown(self) -> str:
        """The source."""
        return self.source

    @property
    def file_name(self) -> str:
        """A Python file, or a JSON file where there is more."""
        return "rule.py" if self.plain else super().file_name

    @property
    def compiled(self) -> CompiledRule:
        """The rule as it runs; a `RuleError` says if the source is no usable rule."""
        return _compiled(self.source, self.name, self.component)


class RuleMethod(Written, Scorer):
    """A branching rule, which may have a budget."""

    kind: Literal["rule"] = "rule"

    @property
    def component(self) -> Component:
        """Branching, whatever the source looks like."""
        return BRANCHING

    @property
    def plain(self) -> bool:
        """Whether it has no budget."""
        return self.budget is None

    @property
    def identity(self) -> str:
        """The rule's hash, or one of it and its budget."""
        return self.sha if self.budget is None else digest_of([self.sha, self.budget.model_dump(mode="json")])

    @property
    def features(self) -> frozenset[int]:
        """Columns the rule reads."""
        return self.compiled.features

    @property
    def address(self) -> int:
        """Address of the rule's machine code."""
        return self.compiled.address

    def score(self, X: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:
        """Score candidates; see `CompiledRule.score`."""
        return self.compiled.score(X)


class ComponentRule(Written):
    """A rule of another component than branching; what its source defines says of which."""

    kind: Literal["component_rule"] = "component_rule"
    branching: AnyMethod = Field(ScipMethod(name=RPB), description="What branches beside it.")

    @property
    def plain(self) -> bool:
        """Whether RPB branches."""
        return self.branching.identity == RPB

    @property
    def identity(self) -> str:
        """Hash of the rule and of what branches."""
        return digest_of([self.sha, self.branching.identity])

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Put rule and branching in charge; the counters are those of the branching."""
        stats = self.branching.attach(model, guard)
        self.component.attach(model, self.compiled)
        return stats


_sha = lru_cache(maxsize=1024)(rule_sha)
_compiled = lru_cache(maxsize=64)(recompiled)
