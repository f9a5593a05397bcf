"""What tells one study from another: the facts it depends on, and the key that they come to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, get_args

from bife_core.base.values import digest_of
from bife_core.instances.base import Instance
from bife_core.language.components import BRANCHING, COMPONENTS
from bife_core.measure.context import Reference
from bife_core.run.config import GeneratorConfig, PipelineConfig
from bife_core.search import SEARCHES
from bife_core.search.answers import Answered
from bife_core.search.generators import GENERATORS
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.solve import SolveResult

VERSION: Final = 16
"""Raise this when the same configuration would no longer give the same search."""

_SCORES: Final = [
    get_args(each.annotation)[0] for each in Answered.model_fields.values() if each.default is None
]
_STORED: Final = (*_SCORES, Reference, SolveResult)
"""What the events of a search hold that costs time or money, and that is read back when it goes on."""


def content_of(instances: Sequence[Instance]) -> str:
    """Return a hash of instances in their order, wherever they lie."""
    return hashlib.sha256("\n".join(instance.digest for instance in instances).encode()).hexdigest()[:16]


def generator_identity(config: GeneratorConfig) -> dict[str, Any]:
    """Return what a generator's answers depend on, the environment's part included and secrets left out."""
    # A limit, such as one of the budget: raised after answers that had no room, it goes on with the same search.
    identity = config.model_dump(mode="json", exclude={"max_completion_tokens"})
    further = getattr(GENERATORS.find(config.kind), "identity", None)
    return identity | (further(config) if further is not None else {})


def search_facts(
    config: PipelineConfig,
    benchmark: str,
    decisions: str | None,
    design: Sequence[Instance],
    training: Sequence[Instance] = (),
    generator: dict[str, Any] | None = None,
    rest: Configuration | None = None,
) -> dict[str, Any]:
    """Return all that a search depends on, as JSON.

    Neither data that it does not read counts, nor where and by how many workers it runs; of a model API the model, its
    temperature and the prompts count. `decisions` is the digest of what F_LF is measured on, `generator` identifies one
    that the configuration does not name, and the `rest` of a configuration is solved with.
    """
    unused = {name for name in ("first_rules", "options") if not getattr(config.search, name)}
    unused |= {"component", "choose"}
    facts: dict[str, Any] = {
        "benchmark": benchmark,
        # A search may be extended: the number of its samples is no part of what it is.
        "search": config.search.model_dump(mode="json", exclude={"samples", *unused}),
        "solver": config.solver.model_dump(mode="json"),
        "high": config.high.model_dump(mode="json"),
        "generator": generator or generator_identity(config.generator),
        "design": content_of(design),
    }
    # What other packages bring is part of a search only by its code.
    code = [SEARCHES.revision(config.search.algorithm), GENERATORS.revision(config.generator.kind)]
    if any(code):
        facts |= {"code": code}
    if config.search.component != BRANCHING.name:
        component = COMPONENTS.find(config.search.component)
        facts |= {"component": digest_of(str(asdict(component)))}
        facts |= {"low": config.low.model_dump(mode="json")} if component.low else {}
    if decisions is not None:
        facts |= {"decisions": decisions, "low": config.low.model_dump(mode="json")}
    facts |= {"training": content_of(training)} if training else {}
    return facts | ({"rest": rest.model_dump(mode="json", exclude_defaults=True)} if rest is not None else {})


def search_key(facts: dict[str, Any]) -> str:
    """Return the key of a search, from its facts."""
    return digest_of({"version": VERSION, "measured": [value.form() for value in _STORED], **facts})[:16]
