"""What a configuration leaves open until its run begins: the seed, the present champion, the archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from bife_core.base.errors import BifeError
from bife_core.base.files import write_whole
from bife_core.language.components import COMPONENTS
from bife_core.registry.evidence import CHAMPION
from bife_core.run.config import PipelineConfig
from bife_core.run.stages.runtime import Runtime
from bife_core.run.study.archive import archived
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import parts_of
from bife_core.solver.methods.scorer import RuleMethod

ARCHIVE: Final = "archive"


def resolved(config: PipelineConfig, runtime: Runtime) -> PipelineConfig:
    """Return a configuration that names one search: the same for every try of a run, another for the next run.

    The default seed is the scheduled time. In `search.first_rules`, "champion" is that of the same settings of SCIP,
    and "archive" the best rules of earlier searches of this home, as the first try found them.
    """
    search, present = config.search, runtime.conductor.present
    changed: dict[str, object] = {}
    if search.seed is None:
        changed["seed"] = seed_at(present.scheduled)
    words: dict[str, Callable[[], Iterable[str]]] = {
        CHAMPION: lambda: (_champion(config, runtime),),
        ARCHIVE: lambda: archived(runtime.store, search.initial, search.component),
    }
    if words.keys() & {*search.first_rules}:
        kept = runtime.home.first_rules / f"{present.number}.json" if present.number else None
        if kept is not None and kept.is_file():
            rules = json.loads(kept.read_text(encoding="utf-8"))
        else:
            chosen = (words[rule]() if rule in words else (rule,) for rule in search.first_rules)
            rules = [*chain.from_iterable(chosen)]
            if kept is not None:
                write_whole(kept, json.dumps(rules))
        changed["first_rules"] = tuple(dict.fromkeys(filter(None, rules)))
    if not changed:
        return config
    return config.model_copy(update={"search": type(search).model_validate(search.model_dump() | changed)})


def seed_at(when: datetime) -> int:
    """Return the seed of a search that is scheduled for a time: its digits in UTC, to the second."""
    return int(f"{when.astimezone(UTC):%Y%m%d%H%M%S}")


def _champion(config: PipelineConfig, runtime: Runtime) -> str:
    """Return what is searched for of a benchmark's champion, without a budget; empty where none can be used."""
    try:
        champion = runtime.registry.champion_of(config.instances, config.solver)
        if champion is None:
            return ""
        component = COMPONENTS.find(config.search.component)
        kind = Configuration if component.part == "start" else RuleMethod
        _, *parts = parts_of(runtime.method(champion.reference))
        if (part := next((part for part in parts if isinstance(part, kind)), None)) is not None:
            return part.text
        runtime.observer.note(f"The search does not begin with the champion, which has no {component.noun}.")
    except BifeError as error:
        runtime.observer.note(f"The search does not begin with the champion. {error}")
    return ""
