"""The archive: the best rules of earlier searches in a store, of any family, which a new search may begin with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from bife_core.base.arguments import checked
from bife_core.language.components import BRANCHING, component_of
from bife_core.run.study.journal import Ended
from bife_core.search import Sample
from bife_core.solver.methods.references import is_json
from bife_core.store import Store

_MARK: Final = "# From the archive: "


@checked
def archived(store: Store | Path | str, most: int = 16, component: str = BRANCHING.name) -> tuple[str, ...]:
    """Return a component's best rules of ended searches of any family, for `search.first_rules`: the latest first.

    Each has its origin, the key of the search alone: language models are sent these texts, and a folder's name would
    tell something.
    """
    opened, rules = store if isinstance(store, Store) else Store(store), dict[str, str]()
    for row in reversed(opened.studies("search")):
        best = None
        for event in opened.events(row.key, kinds=(Ended.kind,)):
            with suppress(ValidationError):  # of another version
                best = Ended.model_validate(event.body).best
        if best is None or not best.source or is_json(best.source):  # another method is no rule
            continue
        if len(rules) < most and component_of(best.source).name == component:
            written = "".join(line for line in best.source.splitlines(True) if not line.startswith(_MARK))
            rules.setdefault(best.sha or "", f"{_MARK}{best.id} of the search {row.key}\n{written}")
    return tuple(rules.values())


def origin(source: str) -> str:
    """Return where a rule that a search begins with comes from, as its first line says."""
    if is_json(source):
        return f"{json.loads(source).get('name', 'a method')}, which the search begins with."
    first = source.partition("\n")[0]
    return first.removeprefix("# ") if first.startswith(_MARK) else "The rule the search begins with."


def descent(rule: Sample, samples: Iterable[Sample]) -> str:
    """Return how a rule was made, and from which rules of the archive it descends."""
    by_id, line = {sample.id: sample for sample in samples}, [rule]
    for sample in line:
        line += [by_id[name] for name in sample.parents if name in by_id and by_id[name] not in line]
    marked = (sample.thought for sample in line if f"# {sample.thought}".startswith(_MARK))
    return ". ".join((rule.lineage, *filter(None, marked)))
