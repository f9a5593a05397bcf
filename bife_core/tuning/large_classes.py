"""Large classes of rows of a family, each of which is tuned: in the first LP, or on demand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bife_core.solver.inequalities.giving import has_knapsacks
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.row_classes import Rows
from bife_core.tuning.space import INEQUALITIES

if TYPE_CHECKING:
    import pyscipopt

READ: Final = 3
"""Instances that are read: a class is large if it is so in each of them."""

_LEAST: Final = 100
_LEAST_SHARE: Final = 0.05
_MOST: Final = 6
"""Rows, and share of all rows, that a large class has; and the most classes, those with the most rows."""

_TERMS: Final = 6


def large_classes(instances: Sequence[str]) -> dict[str, str]:
    """Return the large classes of the first instance files, the largest first, each with an example in words.

    `INEQUALITIES` follows where each has rows that are knapsacks.
    Raises `InstanceError` if an instance cannot be read. Workers call it.
    """
    counts, examples, knapsacks = list[dict[str, int]](), dict[str, str](), list[bool]()
    for path in instances[:READ]:
        model = read_model(Path(path))
        rows, total = Rows(model), model.getNConss()
        knapsacks.append(has_knapsacks(model))
        least = max(_LEAST, _LEAST_SHARE * total)
        counts.append({name: count for name, count in rows.counts.items() if count >= least})
        constraints = model.getConss() if not examples else []
        for name, place in rows.examples.items() if constraints else ():
            share = 100 * rows.counts[name] / total
            examples[name] = f"{share:.0f} % of the rows, such as {_written(model, constraints[place])}"
    everywhere = [name for name in counts[0] if all(name in each for each in counts)] if counts else []
    everywhere.sort(key=lambda name: -sum(each[name] for each in counts))
    facets = {INEQUALITIES: "facets of knapsacks"} if knapsacks and all(knapsacks) else {}
    return {name: examples[name] for name in everywhere[:_MOST]} | facets


def _written(model: pyscipopt.Model, row: pyscipopt.scip.Constraint) -> str:
    """Return a row as text, without the terms beyond the first few."""
    name, handler = row.name, row.getConshdlrName()
    if handler != "linear":
        return f"{name}, of SCIP's type {handler}"
    values = model.getValsLinear(row)
    terms = [f"{value:+g} {variable}" for variable, value in islice(values.items(), _TERMS)]
    terms += ["..."] if len(values) > _TERMS else []
    low, high, infinity = model.getLhs(row), model.getRhs(row), model.infinity()
    before = f"{low:g} <= " if low > -infinity and high < infinity else ""
    after = f" <= {high:g}" if high < infinity else f" >= {low:g}"
    return f"{name}: {before}{' '.join(terms)}{after}"
