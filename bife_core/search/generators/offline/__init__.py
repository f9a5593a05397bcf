"""The generator that runs without a model: it draws, crosses and mutates formulas of a small grammar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from bife_core.language.components import COMPONENTS, Component
from bife_core.language.rules import Rejection, check_source
from bife_core.search.generators.account import Account
from bife_core.search.generators.base import Draft, PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.offline.expression import Leaf, Node, leaves_of
from bife_core.search.generators.offline.operators import (
    explore,
    recombine,
    rule_over,
    sample_rule,
    tune,
    vary,
)
from bife_core.search.generators.offline.source import describe, read, write
from bife_core.search.types import ReflectionRequest, Sample, WrittenRequest
from bife_core.solver.methods.references import code_of

_OPERATORS: Final[dict[str, tuple[str, Callable[..., Node]]]] = {
    "i1": ("Drawn from the grammar", lambda rng, _, offered: sample_rule(rng, offered)),
    "e1": ("Drawn to be unlike the parents", explore),
    "e2": ("Parts of the parents joined", lambda rng, parents, offered: recombine(rng, parents[:2], offered)),
    "m1": ("The parent with one part changed", lambda rng, parents, offered: vary(rng, parents[0], offered)),
    "m2": ("The parent with other numbers", lambda rng, parents, offered: tune(rng, parents[0], offered)),
}
"""What an operator does, in words and to the trees of the parents, with the leaves it may draw."""


class OfflineGenerator:
    """Rules from a grammar over the features of a component, for the operators a language model is asked for.

    It knows nothing of the instances. Of a parent outside the grammar its features are taken.

    Examples
    --------
    >>> from bife_core.search import SampleRequest
    >>> request = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3)
    >>> OfflineGenerator().generate(request, PromptContext(benchmark="set_covering")).failure is None
    True
    """

    name = "offline"
    model = "offline grammar"
    needs_features = True

    def __init__(self, config: GeneratorConfig | None = None, account: Account | None = None) -> None:
        pass  # it depends on neither

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule or one reflection; it always succeeds."""
        if isinstance(request, ReflectionRequest):
            return Draft(model=self.model, text=_reflection(request))
        rng, component = np.random.default_rng(request.seed), COMPONENTS.find(request.component)
        parents = tuple(dict.fromkeys(_tree(rng, parent, component) for parent in request.parents))
        operator = request.operator if parents else "i1"
        # One of another package is taken for a crossover or a mutation.
        origin, made = _OPERATORS.get(operator, _OPERATORS["e2" if len(parents) > 1 else "m1"])
        root = made(rng, parents, leaves_of(component))
        thought = f"{origin}: {describe(root)}."
        return Draft(model=self.model, source=write(root), thought=thought)


def _tree(rng: np.random.Generator, parent: Sample, component: Component) -> Node:
    """Return the tree of a parent, else one over its features, else a fresh one."""
    source, features = code_of(parent.source or ""), _features(parent, component)
    return read(source) or (rule_over(rng, features) if features else sample_rule(rng, leaves_of(component)))


def _features(parent: Sample, component: Component) -> list[Leaf]:
    checked = check_source(code_of(parent.source or ""), component)
    read_by_it = () if isinstance(checked, Rejection) else sorted(checked.features)
    return [leaves_of(component)[index] for index in read_by_it]


def _reflection(request: ReflectionRequest) -> str:
    """Return which features the last parent reads and the others do not; of hints alone, the hints joined."""
    if not request.parents:
        return " ".join(dict.fromkeys(request.hints)) or "There is no hint yet."
    component = COMPONENTS.find(request.component)
    *others, better = (_features(parent, component) for parent in request.parents)
    names = ", ".join(leaf.about.name for leaf in better if not any(leaf in other for other in others))
    return (
        f"Favour {names}." if names else "Both read the same features; combine them as the better rule does."
    )
