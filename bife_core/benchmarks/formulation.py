"""The shape of an instance: its variables, constraint types and objective in words, and whether it is like others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pyscipopt import Model, Variable

from bife_core.scip.reading import read_model
from bife_core.values import Value

_ROWS: Final = 20_000
"""Rows of an instance that are read, evenly spread; the counts are scaled up."""
_TYPES: Final = {
    "BINARY": "binary",
    "INTEGER": "integer",
    "IMPLINT": "continuous",
    "CONTINUOUS": "continuous",
}
_KINDS: Final = ("binary", "integer", "continuous")


def formulation(instances: Sequence[Path]) -> tuple[str, ...]:
    """Return sentences on instances of one benchmark; where they differ, the range is given.

    Parameters
    ----------
    instances : sequence of Path
        At least one instance file.

    Raises
    ------
    InstanceError
        If one cannot be read.
    """
    read = [read_model(path) for path in instances]
    kinds = [Counter(_kind(variable) for variable in model.getVars()) for model in read]
    rows = [_rows(model) for model in read]
    of_kinds = ", ".join(
        f"{_span(c[kind] for c in kinds)} {kind}" for kind in _KINDS if any(c[kind] for c in kinds)
    )
    density = (
        100 * _mean(lengths) / max(model.getNVars(), 1)
        for (_, lengths, _), model in zip(rows, read, strict=True)
    )
    return (
        f"Variables: {of_kinds}.",
        f"Constraints: {_listed([counted for counted, _, _ in rows])}.",
        f"A constraint has {_span(length for _, lengths, _ in rows for length in _ends(lengths))} variables, "
        f"{_span(_mean(lengths) for _, lengths, _ in rows)} on average ({_span(density)} % of all); the sizes of "
        f"coefficients: {_span(size for _, _, sizes in rows for size in _ends(sizes))}.",
        _objective(read),
    )


def shape(model: Model) -> dict[str, float]:
    """Return what distinguishes formulations: counts of variables and rows, and the shares of their types in percent.

    Examples
    --------
    >>> model = Model()
    >>> _ = model.addCons(model.addVar(vtype="B") + model.addVar(vtype="B") <= 1)
    >>> shape(model)["% of constraints: set packing (sum of binaries <= 1)"]
    100.0
    """
    kinds = Counter(_kind(variable) for variable in model.getVars())
    rows, _, _ = _rows(model)
    counts = {"variables": float(model.getNVars()), "constraints": float(model.getNConss())}
    of_variables = {f"% of variables: {kind}": 100.0 * kinds[kind] / model.getNVars() for kind in kinds}
    of_rows = {f"% of constraints: {name}": 100.0 * rows[name] / sum(rows.values()) for name in rows}
    return counts | of_variables | of_rows


def _kind(variable: Variable) -> str:
    if variable.vtype() == "INTEGER" and (variable.getLbOriginal(), variable.getUbOriginal()) == (0.0, 1.0):
        return "binary"
    return _TYPES[variable.vtype()]


def _rows(model: Model) -> tuple[Counter[str], list[float], list[float]]:
    """Return constraints by type, their lengths, and the sizes of their coefficients (smallest, largest each)."""
    constraints = model.getConss()
    step = max(1, math.ceil(len(constraints) / _ROWS))
    kinds = {variable.name: _kind(variable) for variable in model.getVars()}
    counted: Counter[str] = Counter()
    lengths: list[float] = []
    sizes: list[float] = []
    for constraint in constraints[::step]:
        if constraint.getConshdlrName() != "linear":
            counted[f"of SCIP's type {constraint.getConshdlrName()}"] += step
            continue
        entries = {name: value for name, value in model.getValsLinear(constraint).items() if value != 0.0}
        infinity = model.infinity()
        low, high = model.getLhs(constraint), model.getRhs(constraint)
        sides = (None if low <= -infinity else low, None if high >= infinity else high)
        counted[row_type([kinds[name] for name in entries], list(entries.values()), *sides)] += step
        lengths.append(len(entries))
        sizes += _ends([abs(value) for value in entries.values()])
    return counted, lengths, sizes


def row_type(kinds: Sequence[str], values: Sequence[float], low: float | None, high: float | None) -> str:
    """Return what a linear row is called.

    Parameters
    ----------
    kinds : sequence of str
        "binary", "integer" or "continuous", by entry.
    values : sequence of float
        Coefficients, by entry.
    low, high : float or None
        Sides; None where there is none.

    Examples
    --------
    >>> row_type(["binary"] * 3, [1.0, 1.0, 1.0], None, 1.0)
    'set packing (sum of binaries <= 1)'
    """
    if values and max(values) <= 0:
        values = [-value for value in values]
        low, high = (None if high is None else -high), (None if low is None else -low)
    equation = low is not None and low == high
    if set(kinds) == {"continuous"}:
        return "on continuous variables alone"
    if "continuous" in kinds and "integer" not in kinds and len(kinds) == 2:
        return "variable bound (a binary switches a continuous variable)"
    if "continuous" in kinds:
        return "mixed, of integer and continuous variables"
    if "integer" in kinds:
        return "on integer variables, not all of them binary"
    if set(values) == {1.0}:
        if equation:
            return (
                "set partitioning (sum of binaries = 1)" if high == 1 else "cardinality (sum of binaries = k)"
            )
        if low is None:
            return "set packing (sum of binaries <= 1)" if high == 1 else "packing (sum of binaries <= k)"
        if high is None:
            return "set covering (sum of binaries >= 1)" if low == 1 else "covering (sum of binaries >= k)"
        return "sum of binaries between two numbers"
    if min(values, default=0.0) > 0:
        return "knapsack equation" if equation else "knapsack" if low is None else "knapsack covering"
    return (
        "precedence of two binaries" if len(values) == 2 else "on binaries, with coefficients of both signs"
    )


def _listed(counts: Sequence[Counter[str]]) -> str:
    total = sum(counts, Counter())
    parts = [f"{_span(counted[name] for counted in counts)} {name}" for name, _ in total.most_common()]
    return ", ".join(parts) or "none"


def _objective(models: Sequence[Model]) -> str:
    sense = "maximised" if models[0].getObjectiveSense() == "maximize" else "minimised"
    turned = (
        " (the solver minimises its negative, so features have the opposite sign)" if sense[1] == "a" else ""
    )
    priced = [[v.getObj() for v in model.getVars() if v.getObj() != 0.0] for model in models]
    if not any(priced):
        return "There is no objective: any feasible solution is optimal."
    shares = _span(100 * len(own) / model.getNVars() for own, model in zip(priced, models, strict=True))
    return (
        f"The objective is {sense}{turned}; {shares} % of the variables have a coefficient in it: "
        f"{_span(value for own in priced for value in _ends(own))}."
    )


def _ends(values: Sequence[float]) -> list[float]:
    return [min(values), max(values)] if values else []


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _span(values: Iterable[float]) -> str:
    """Return numbers as one or as a range."""
    found = sorted(values)
    if not found:
        return "0"
    low, high = (f"{end:.0f}" if end == round(end) else f"{end:.3g}" for end in (found[0], found[-1]))
    return low if low == high else f"{low} to {high}"


_FACTOR: Final = 1.5
"""How far beyond the range of known instances a count may lie."""
_POINTS: Final = 10.0
"""How far beyond it a share may lie, in percent points."""
_READ: Final = 8
"""Instances that are read to know the others by."""


class Likeness(Value):
    """The range of some instances' `bife_core.benchmarks.formulation.shape`.

    Attributes
    ----------
    ranges : dict of str to (float, float)
        Smallest and largest number of each property; what none of them has is left out.

    Examples
    --------
    >>> known = Likeness(ranges={"variables": (100.0, 120.0), "% of variables: binary": (100.0, 100.0)})
    >>> known.difference({"variables": 130.0, "% of variables: binary": 100.0})
    >>> known.difference({"variables": 900.0, "% of variables: binary": 100.0})
    'variables: 900 here, 100 to 120 there'
    """

    ranges: dict[str, tuple[float, float]]

    def difference(self, found: dict[str, float]) -> str | None:
        """Return in what an instance differs from those known, or None if it is like them.

        Parameters
        ----------
        found : dict of str to float
            The instance's shape.
        """
        for name in dict.fromkeys((*self.ranges, *found)):
            low, high = self.ranges.get(name, (0.0, 0.0))
            value = found.get(name, 0.0)
            share = name.startswith("%")
            below, above = (low - _POINTS, high + _POINTS) if share else (low / _FACTOR, high * _FACTOR)
            if not below <= value <= above:
                known = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
                return f"{name}: {value:.4g} here, {known} there"
        return None


def likeness_of(instances: Sequence[Path]) -> Likeness:
    """Return what some instances have in common; of many the first few are read.

    Raises
    ------
    InstanceError
        If one cannot be read.
    """
    shapes = [shape(read_model(path)) for path in instances[:_READ]]
    values = {
        name: [one.get(name, 0.0) for one in shapes]
        for name in dict.fromkeys(name for one in shapes for name in one)
    }
    return Likeness(ranges={name: (round(min(of), 2), round(max(of), 2)) for name, of in values.items()})
