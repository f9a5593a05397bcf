"""What a family allows to tune: large classes of rows, in the first LP or on demand, facets of knapsacks, a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bife_core.instances.formulation import row_text
from bife_core.solver.inequalities.giving import has_knapsacks
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.row_classes import Rows
from bife_core.solver.starts.local_search import fits
from bife_core.solver.starts.problem import problem_of
from bife_core.tuning.space import RowFacts

READ: Final = 3
"""Instances that are read: a class is large if it is so in each of them."""

_LEAST: Final = 100
_LEAST_SHARE: Final = 0.05
_MOST: Final = 6
"""Rows, and share of all rows, that a large class has; and the most classes, those with the most rows."""


def row_facts(instances: Sequence[str]) -> RowFacts:
    """Return the large classes of the first instance files, the largest first, and what each of the files allows.

    Raises `InstanceError` if an instance cannot be read.
    """
    counts, examples = list[dict[str, int]](), dict[str, str]()
    knapsacks = searchable = bool(instances)
    for path in instances[:READ]:
        model = read_model(Path(path))
        rows, total = Rows(model), model.getNConss()
        knapsacks = knapsacks and has_knapsacks(model)
        searchable = searchable and fits(problem_of(model, seed=0, limit_s=0.0))
        least = max(_LEAST, _LEAST_SHARE * total)
        counts.append({name: count for name, count in rows.counts.items() if count >= least})
        constraints = model.getConss() if not examples else []
        for name, place in rows.examples.items() if constraints else ():
            share = 100 * rows.counts[name] / total
            examples[name] = f"{share:.0f} % of the rows, such as {row_text(model, constraints[place])}"
    everywhere = [name for name in counts[0] if all(name in each for each in counts)] if counts else []
    everywhere.sort(key=lambda name: -sum(each[name] for each in counts))
    classes = {name: examples[name] for name in everywhere[:_MOST]}
    return RowFacts(classes=classes, knapsacks=knapsacks, searchable=searchable)


def in_worker(instances: Sequence[str]) -> dict[str, Any]:
    """Return `row_facts` as JSON."""
    return row_facts(instances).model_dump()
