"""The generator that runs without a model: it draws, crosses and mutates formulas of a small grammar."""

from __future__ import annotations

import numpy as np

from bife_core.features import FEATURES
from bife_core.generators.account import Account
from bife_core.generators.base import Draft
from bife_core.generators.config import GeneratorConfig
from bife_core.generators.offline import operators
from bife_core.generators.offline.expression import Node
from bife_core.generators.offline.foreign import tune_source
from bife_core.generators.offline.operators import Proposal
from bife_core.generators.offline.priors import rule_from_features, sample_rule
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.syntax import features_read
from bife_core.generators.offline.writer import write
from bife_core.generators.prompt_context import PromptContext
from bife_core.search.types import ReflectionRequest, SampleRequest, WrittenRequest


class OfflineGenerator:
    """Rules from a grammar over the feature table, for the operators a language model is asked for.

    It is no language model and knows nothing of the instances. All draws come from the request's seed.
    Parents are read back from their source; of a parent outside the grammar its features are taken, or, for
    m2, its numbers are changed in place.

    Examples
    --------
    >>> from bife_core.search import SampleRequest
    >>> request = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3)
    >>> OfflineGenerator().generate(request, PromptContext(benchmark="set_covering")).failure is None
    True
    """

    name = "offline"
    model = "offline grammar"

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule or one reflection; it always succeeds."""
        rng = np.random.default_rng(request.seed)
        if isinstance(request, ReflectionRequest):
            return self._draft(request, text=_reflection(request))
        if request.operator == "m2" and request.parents and read(request.parents[0].source or "") is None:
            source = tune_source(rng, request.parents[0].source or "")
            if source is not None:
                return self._draft(request, source=source, thought="The parent with other numbers.")
        proposal = self._propose(rng, request)
        return self._draft(request, source=write(proposal.root), thought=proposal.thought)

    def _draft(self, request: WrittenRequest, **written: str) -> Draft:
        return Draft(key=request.id, generator=self.name, model=self.model, **written)

    def _propose(self, rng: np.random.Generator, request: SampleRequest) -> Proposal:
        """Write by the operator; an operator of another package is a mutation of one parent or joins several."""
        parents = tuple(dict.fromkeys(_tree(rng, parent.source or "") for parent in request.parents))
        if request.operator == "i1" or not parents:
            return operators.initialise(rng)
        match request.operator:
            case "e1":
                return operators.explore(rng, parents)
            case "e2":
                return operators.recombine(rng, parents)
            case "m2":
                return operators.tune(rng, parents[0])
            case _ if request.operator != "m1" and len(parents) > 1:
                return operators.recombine(rng, parents[:2])
            case _:
                return operators.vary(rng, parents[0])


def configured(config: GeneratorConfig, account: Account) -> OfflineGenerator:
    """Return the generator; it costs nothing."""
    return OfflineGenerator()


def _reflection(request: ReflectionRequest) -> str:
    """Return which features the last parent reads and the others do not; of hints alone, the hints joined."""
    if not request.parents:
        return " ".join(dict.fromkeys(request.hints)) or "There is no hint yet."
    *others, better = (features_read(parent.source or "") for parent in request.parents)
    known = {index for features in others for index in features}
    names = ", ".join(FEATURES[index].name for index in better if index not in known)
    return (
        f"Favour {names}." if names else "Both read the same features; combine them as the better rule does."
    )


def _tree(rng: np.random.Generator, source: str) -> Node:
    """Return the tree of a source, else a tree over its features, else a fresh one."""
    tree = read(source) or rule_from_features(rng, features_read(source))
    return tree if tree is not None else sample_rule(rng)
