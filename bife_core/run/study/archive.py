"""The archive: the best rules of earlier searches in a store, of any family, which a new search may begin with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bife_core.language.components import BRANCHING, component_of
from bife_core.search import Sample
from bife_core.solver.methods.loading import is_json
from bife_core.store import Store

_MARK: Final = "# From the archive: "


def archived(store: Store, most: int, component: str = BRANCHING.name) -> tuple[str, ...]:
    """Return a component's best rules of searches that ended, `most` at most, the latest first, each with its origin.

    It has the key of the search alone: models are sent these texts, and a name tells what a folder is called.

    F_LF shows which of them are of use on other instances, and one that chooses like another is not evaluated in the
    solver. So neither the family nor the number of runs that found a rule decides.
    """
    rules: dict[str, str] = {}
    for row in reversed(store.studies("evolution")):
        best = next(
            (event.body["best"] for event in reversed([*store.events(row.key, kinds=("ended",))])), None
        )
        if best is None or not best["source"] or is_json(best["source"]):  # another method is no rule
            continue
        if len(rules) < most and component_of(best["source"]).name == component:
            written = "".join(line for line in best["source"].splitlines(True) if not line.startswith(_MARK))
            rules.setdefault(best["sha"], f"{_MARK}{best['id']} of the search {row.key}\n{written}")
    return tuple(rules.values())


def origin(source: str) -> str:
    """Return where a rule that a search begins with comes from, as its first line says."""
    first = source.partition("\n")[0]
    return first.removeprefix("# ") if first.startswith(_MARK) else "The rule the search begins with."


def descent(rule: Sample, samples: Iterable[Sample]) -> str:
    """Return how a rule was made, and from which rules of the archive it descends."""
    known, line = {sample.id: sample for sample in samples}, [rule]
    for sample in line:
        line += [known[name] for name in sample.parents if name in known and known[name] not in line]
    marked = (sample.thought for sample in line if f"# {sample.thought}".startswith(_MARK))
    return ". ".join((rule.lineage, *filter(None, marked)))
