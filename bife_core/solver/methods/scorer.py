"""Methods that score candidates, such as rules and networks: SCIP branches on the highest score."""

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
from bife_core.solver.scip.compiled import layout
from bife_core.solver.scip.node import Node


class BaseScorer(Method):
    """Base of scorers of candidates and of nodes."""

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
        """What it reads of the node besides features, a constant of `layout`."""
        return 0

    @property
    def data(self) -> int:
        """Address of memory for machine code that lives as long as the process, such as weights; 0 for none."""
        return 0

    @property
    def address(self) -> int:
        """Address of the C function ``int64_t score(const void *shown, int64_t n, double *out)``, or 0 for none.

        It returns 0, or 1 if it failed; it needs no Python lock and is valid as long as the scorer is referenced.
        """
        return 0

    @abstractmethod
    def score(self, shown: Any, /) -> npt.NDArray[np.float64]:
        """Return a score per candidate."""

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats:
        """Let the scorer choose whenever an LP solution is branched on; see `bife_core.attach`."""
        return attach_scorer(model, self, guard, self.budget)


class Scorer(BaseScorer):
    """Base of methods that score candidates by their features: write `score`, and give `kind` a default.

    `score` is called from Python at every branching, unless `address` gives machine code, which gets X row-major,
    n x `n_features`. `features` names the columns that are read.
    """

    @abstractmethod
    def score(self, X: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:
        """Return a score per candidate, higher is better; if none is a number, SCIP's next branching rule takes over.

        `X` has a row per candidate and the columns of `bife_core.language.features.FEATURES`; those that are not in
        `features` are 0.
        """


class NodeMethod(BaseScorer):
    """Base of methods that score by the node's graph, such as networks: write `score`, and give `kind` a default.

    `score` is called from Python at every branching, unless `address` gives machine code. `features` and `graph` say
    what is computed.

    Machine code gets words, addresses of the arrays of a `Node` and numbers: 0 features; 1 variables, 2 how many;
    3 candidates; 4 rows, 5 how many; 6 edge_starts, 7 edge_variables, 8 edge_values; 9 first; 10 depth; 11 `data`;
    12 address of two words for the scorer's use while the model lives, at first 0: an address that `realloc` gave,
    which is freed in the end, and a number.
    """

    @property
    def features(self) -> frozenset[int] | None:
        """Columns of `Node.features` it reads: None reads all, the default none."""
        return frozenset()

    @property
    def graph(self) -> Literal["never", "first", "always"]:
        """At which nodes of a solve it gets the graph; others have no rows and only the candidates' variables."""
        return "always"

    @property
    def observes(self) -> int:
        """`graph` as a constant of `layout`."""
        return {"never": layout.GRAPH_NEVER, "first": layout.GRAPH_FIRST, "always": layout.GRAPH_ALWAYS}[
            self.graph
        ]

    @abstractmethod
    def score(self, node: Node, /) -> npt.NDArray[np.float64]:
        """Return a score per candidate, higher is better, as `Scorer.score` does."""


class Written(Method):
    """Base of the rules of all components: a Python `source`, checked and compiled where it is used."""

    source: str = Field(description="Text that defines the component's function, in the language of rules.")

    @property
    def component(self) -> Component:
        """The component whose rule it is."""
        return component_of(self.source)

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether the source describes it completely."""

    @property
    def sha(self) -> str:
        """The rule's hash; a `RuleError` says that the source is no usable rule."""
        return _sha(self.source, self.component)

    @property
    def text(self) -> str:
        """The source if it is `plain`, else JSON."""
        return self.source if self.plain else super().text

    @property
    def shown(self) -> str:
        """The source."""
        return self.source

    @property
    def file_name(self) -> str:
        """A Python file if it is `plain`, else a JSON file."""
        return "rule.py" if self.plain else super().file_name

    @property
    def compiled(self) -> CompiledRule:
        """The compiled rule; a `RuleError` says that the source is no usable rule."""
        return _compiled(self.source, self.name, self.component)


class RuleMethod(Written, Scorer):
    """A branching rule, which may have a budget."""

    kind: Literal["rule"] = "rule"

    @property
    def component(self) -> Component:
        """Branching, whatever the source defines."""
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
    def features(self) -> frozenset[int]:  # noqa: D102
        return self.compiled.features

    @property
    def address(self) -> int:  # noqa: D102
        return self.compiled.address

    def score(self, X: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:  # noqa: D102
        return self.compiled.score(X)


class ComponentRule(Written):
    """A rule of another component than branching: that whose function the source defines."""

    kind: Literal["component_rule"] = "component_rule"
    branching: AnyMethod = Field(ScipMethod.model_construct(name=RPB), description="What branches beside it.")

    @property
    def plain(self) -> bool:
        """Whether RPB branches."""
        return self.branching.identity == RPB

    @property
    def identity(self) -> str:
        """Hash of the rule and of the branching method."""
        return digest_of([self.sha, self.branching.identity])

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Attach rule and branching method; the counters are the latter's."""
        stats = self.branching.attach(model, guard)
        self.component.attach(model, self.compiled)
        return stats


_sha = lru_cache(maxsize=1024)(rule_sha)
_compiled = lru_cache(maxsize=64)(recompiled)
