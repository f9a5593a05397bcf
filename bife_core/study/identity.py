"""The identity of an evolution: equal settings and equal data give equal keys, on any machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from bife_core.benchmarks.base import Instance
from bife_core.config import PipelineConfig
from bife_core.generators.config import GENERATORS, GeneratorConfig
from bife_core.search.config import SEARCHES

VERSION: Final = 5
"""Raise this when the same configuration would no longer give the same search."""

FITTING: Final = 4
"""Raise this instead where that is so for fitted rules alone: what a model was paid to write is not asked for again."""


def content_of(instances: Sequence[Instance]) -> str:
    """Return a hash of models in their order, wherever they lie, and of the bounds given with them."""
    return hashlib.sha256("\n".join(instance.digest for instance in instances).encode()).hexdigest()[:16]


def generator_identity(config: GeneratorConfig) -> dict[str, Any]:
    """Return what a generator's answers depend on, the environment's part included and secrets left out."""
    identity = config.model_dump(mode="json")
    if config.kind == "openai":
        from bife_core.generators.model_settings import ModelApiSettings
        from bife_core.generators.prompting import prompt_version

        settings = ModelApiSettings.from_environment()
        identity["model"] = config.model or settings.model
        identity["prompt_version"] = prompt_version()
    return identity


def evolution_facts(
    config: PipelineConfig,
    benchmark: str,
    generator: dict[str, Any],
    decisions: str | None,
    design: Sequence[Instance],
    training: Sequence[Instance] = (),
) -> dict[str, Any]:
    """Return all that an evolution depends on, as JSON.

    Data the search does not read is no part of it, nor where and by how many workers it runs. Of a model API the model,
    its temperature and the prompts count, its address and key do not. `generator` is its `generator_identity` and
    `decisions` the digest of what F_LF is measured on.
    """
    unused = {name for name in ("first_rules", "options") if not getattr(config.search, name)}
    facts: dict[str, Any] = {
        "benchmark": benchmark,
        # A search may be extended: the number of its samples is no part of what it is.
        "search": config.search.model_dump(mode="json", exclude={"samples", *unused}),
        "high": config.high.model_dump(mode="json"),
        "generator": generator,
        "design": content_of(design),
    }
    # What other packages bring is part of a search only by its code.
    code = [SEARCHES.revision(config.search.method), GENERATORS.revision(config.generator.kind)]
    if any(code):
        facts |= {"code": code}
    if decisions is not None:
        facts |= {"decisions": decisions, "low": config.low.model_dump(mode="json")}
    if config.search.method == "symbolic":
        facts |= {"fitting": FITTING}
    return facts | ({"training": content_of(training)} if training else {})


def evolution_key(facts: dict[str, Any]) -> str:
    """Return the key of an evolution, from its facts."""
    text = json.dumps({"version": VERSION, **facts}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
