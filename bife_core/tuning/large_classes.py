"""What a family allows to tune: large classes of rows and of integer variables, and what its instances have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bife_core.instances.formulation import row_text
from bife_core.solver.inequalities.giving import has_knapsacks
from bife_core.solver.scip.implied_free import aggregated_in
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.row_classes import Rows
from bife_core.solver.scip.variable_classes import classes_of
from bife_core.solver.starts.local_search import fits
from bife_core.solver.starts.problem import problem_of
from bife_core.tuning.space import FamilyFacts

READ: Final = 3
"""Instances that are read: a class is large if it is so in each of them."""

_LEAST: Final = 100
_LEAST_SHARE: Final = 0.05
_MOST: Final = 6
"""Rows, and share of all rows or integer variables, that a large class has; and the most classes, those with the most.
"""

_PRESOLVING_S, _LEAST_AGGREGATED = 10.0, 0.02
"""CPU seconds of presolving in which that share of the variables has to be aggregated as implied free."""


def family_facts(instances: Sequence[str]) -> FamilyFacts:
    """Return the large classes of the first instance files, the largest first, and what each of the files allows.

    Raises `InstanceError` if an instance cannot be read.
    """
    rows, variables, examples = list[dict[str, int]](), list[dict[str, int]](), dict[str, str]()
    knapsacks = searchable = implied_free = bool(instances)
    for path in instances[:READ]:
        model = read_model(Path(path))
        of_rows, total = Rows(model), model.getNConss()
        knapsacks = knapsacks and has_knapsacks(model)
        searchable = searchable and fits(problem_of(model, seed=0, limit_s=0.0))
        least = max(_LEAST, _LEAST_SHARE * total)
        rows.append({name: count for name, count in of_rows.counts.items() if count >= least})
        by_class = classes_of(model)
        integers = sum(map(len, by_class.values()))
        least = _LEAST_SHARE * integers if len(by_class) > 1 else math.inf
        variables.append({name: len(of) for name, of in by_class.items() if len(of) >= least})
        if not examples:
            constraints = model.getConss()
            for name, place in of_rows.examples.items():
                share = 100 * of_rows.counts[name] / total
                examples[name] = f"{share:.0f} % of the rows, such as {row_text(model, constraints[place])}"
            for name, of in by_class.items():
                share = 100 * len(of) / integers
                examples[name] = f"{share:.0f} % of the integer variables, such as {of[0].name}"
        fewer = _LEAST_AGGREGATED * model.getNVars()
        # Last, since it presolves the model.
        implied_free = implied_free and aggregated_in(model, _PRESOLVING_S) >= fewer
    classes = {name: examples[name] for counts in (rows, variables) for name in _largest(counts)}
    return FamilyFacts(classes=classes, knapsacks=knapsacks, searchable=searchable, implied_free=implied_free)


def _largest(counts: Sequence[Mapping[str, int]]) -> list[str]:
    """Return the names that all have, those of the highest counts first."""
    everywhere = [name for name in counts[0] if all(name in each for each in counts)] if counts else []
    return sorted(everywhere, key=lambda name: -sum(each[name] for each in counts))[:_MOST]


def in_worker(instances: Sequence[str]) -> dict[str, Any]:
    """Return `family_facts` as JSON."""
    return family_facts(instances).model_dump()
