"""The shape of instances, in words and in numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyscipopt import Model, Variable

from bife_core.base.likeness import Likeness
from bife_core.base.wording import span_text
from bife_core.solver.scip.reader import read_model

_ROWS: Final = 20_000  # most rows of an instance that are read, evenly spread
_CLASSES: Final = 12  # most classes of variables, and of constraints, that are written out
_TERMS: Final = 8  # most terms of a row that is written out
_KINDS: Final = {"BINARY": "binary", "INTEGER": "integer"}
_OF_VARIABLES: Final = "% of variables: "
_OF_ROWS: Final = "% of constraints: "

_Linear: TypeAlias = tuple[dict[str, float], float | None, float | None]
"""The coefficients of a linear row, and its sides, None where there is none."""


def formulation(instances: Sequence[Path]) -> tuple[str, ...]:
    """Return sentences on one or more instance files of a benchmark; where they differ, the range is given."""
    read = [read_model(path) for path in instances]
    shapes = [shape(model) for model in read]
    sense = "minimised"
    if read[0].getObjectiveSense() == "maximize":
        sense = "maximised (the solver minimises its negative, so features have the opposite sign)"
    prices = [[v.getObj() for v in model.getVars() if v.getObj() != 0.0] for model in read]
    objective = "There is no objective: any feasible solution is optimal."
    if any(prices):
        shares = span_text(
            100 * len(costs) / model.getNVars() for costs, model in zip(prices, read, strict=True)
        )
        ends = span_text(cost for costs in prices for cost in costs)
        objective = f"The objective is {sense}; {shares} % of the variables have a coefficient in it: {ends}."
    return (
        f"Variables: {_described(shapes, 'variables', _OF_VARIABLES)}.",
        f"Constraints: {_described(shapes, 'constraints', _OF_ROWS)}, "
        f"each on {span_text(numbers['variables of a constraint'] for numbers in shapes)} variables on average.",
        objective,
    )


def written_out(instance: Path) -> tuple[str, ...]:
    """Return a sentence on each class of variables and of constraints of an instance, the largest first.

    A class is a form and, where names begin with letters, their stem; an example is written out with its names.
    """
    model = read_model(instance)
    of_variables, of_rows = dict[str, list[Variable]](), dict[tuple[str, str], list[str]]()
    for variable in model.getVars():
        of_variables.setdefault(f"{_kind(variable)}, {_stem(variable.name)}", []).append(variable)
    chosen = list(_rows(model))
    for name, form, linear in chosen:
        if linear is not None:
            examples = of_rows.setdefault((form, _stem(name)), [])
            # All are counted, one is written out.
            examples.append("" if examples else f"{name}: {_in_words(*linear)}")
    sentences = []
    for called, members in sorted(of_variables.items(), key=lambda item: -len(item[1]))[:_CLASSES]:
        few = ", ".join(dict.fromkeys(variable.name for variable in (*members[:2], members[-1])))
        limits = ((v.getLbOriginal(), v.getUbOriginal()) for v in members)
        low, high = map(span_text, zip(*limits, strict=True))
        bounds, costs = f"from {low} to {high}", span_text(variable.getObj() for variable in members)
        sentences.append(
            f"{len(members)} variables ({called}), such as {few}: {bounds}, objective coefficients {costs}."
        )
    for (form, stem), rows in sorted(of_rows.items(), key=lambda item: -len(item[1]))[:_CLASSES]:
        share = "" if len(chosen) == model.getNConss() else f" of {len(chosen)} read"
        sentences.append(f"{len(rows)} constraints{share} ({form}, {stem}), the first is {rows[0]}.")
    return tuple(sentences)


def _stem(name: str) -> str:
    stem = re.match("[A-Za-z]+(?:_[A-Za-z]+)*", name)
    return f"named {stem[0]}..." if stem else "without a common name"


def _rows(model: Model) -> Iterator[tuple[str, str, _Linear | None]]:
    """Yield name, type and linear form of constraints, evenly spread; others than linear ones have no form."""
    kinds = {variable.name: _kind(variable) for variable in model.getVars()}
    constraints = model.getConss()
    for constraint in constraints[:: math.ceil(len(constraints) / _ROWS) or 1]:
        if (linear := _linear(model, constraint)) is None:
            yield constraint.name, f"of SCIP's type {constraint.getConshdlrName()}", None
            continue
        row, *sides = linear
        yield constraint.name, row_type([kinds[name] for name in row], [*row.values()], *sides), linear


def _linear(model: Model, constraint: Any) -> _Linear | None:
    """Return the coefficients of a linear row and its sides, None where there is none."""
    if constraint.getConshdlrName() != "linear":
        return None
    row = {name: value for name, value in model.getValsLinear(constraint).items() if value != 0.0}
    low, high, infinity = model.getLhs(constraint), model.getRhs(constraint), model.infinity()
    return row, None if low <= -infinity else low, None if high >= infinity else high


def row_text(model: Model, constraint: Any) -> str:
    """Return a row as text with its name, the middle of a long one left out; of one that is not linear its type."""
    if (linear := _linear(model, constraint)) is None:
        return f"{constraint.name}, of SCIP's type {constraint.getConshdlrName()}"
    return f"{constraint.name}: {_in_words(*linear)}"


def _in_words(row: dict[str, float], low: float | None, high: float | None) -> str:
    terms = []
    for name, value in row.items():
        factor = "" if abs(value) == 1 else f"{abs(value):.6g} "
        terms.append(f"{'+' if value > 0 else '-'} {factor}{name}")
    if len(terms) > _TERMS:
        terms[_TERMS // 2 : -_TERMS // 2] = [f"... ({len(terms)} terms)"]
    text = " ".join(terms).removeprefix("+ ")
    if low is not None and low == high:
        return f"{text} = {low:.6g}"
    before, after = "" if low is None else f"{low:.6g} <= ", "" if high is None else f" <= {high:.6g}"
    if low is not None and high is None:
        before, after = "", f" >= {low:.6g}"
    return f"{before}{text}{after}"


def _described(shapes: Sequence[dict[str, float]], what: str, prefix: str) -> str:
    """Return a count and the shares of its kinds, the most frequent first."""
    shares = {name: of for name, of in sorted(_by_name(shapes).items()) if name.startswith(prefix)}
    listed = ", ".join(
        f"{span_text(of)} % {name.removeprefix(prefix)}"
        for name, of in sorted(shares.items(), key=lambda item: -sum(item[1]))
    )
    return f"{span_text(numbers[what] for numbers in shapes)} ({listed})"


def _by_name(shapes: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Return the numbers of several shapes by name; one that a shape lacks is 0."""
    names = dict.fromkeys(name for numbers in shapes for name in numbers)
    return {name: [numbers.get(name, 0.0) for numbers in shapes] for name in names}


def shape(model: Model) -> dict[str, float]:
    """Return counts of variables and rows, and shares of their types in percent."""
    chosen, kinds = list(_rows(model)), Counter(map(_kind, model.getVars()))
    counts = {"variables": float(model.getNVars()), "constraints": float(model.getNConss())}
    entries = sum(len(linear[0]) for *_, linear in chosen if linear is not None)
    counts["variables of a constraint"] = entries / max(len(chosen), 1)
    types = Counter(form for _, form, _ in chosen)
    shares = {
        f"{prefix}{name}": 100.0 * count / counter.total()
        for prefix, counter in ((_OF_VARIABLES, kinds), (_OF_ROWS, types))
        for name, count in counter.items()
    }
    return counts | shares


def _kind(variable: Variable) -> str:
    if variable.vtype() == "INTEGER" and (variable.getLbOriginal(), variable.getUbOriginal()) == (0.0, 1.0):
        return "binary"
    return _KINDS.get(variable.vtype(), "continuous")


def row_type(kinds: Sequence[str], values: Sequence[float], low: float | None, high: float | None) -> str:
    """Return the name of a linear row's type, from the kinds of its variables, its coefficients and its sides."""
    if values and max(values) <= 0:
        values = [-value for value in values]
        low, high = (None if high is None else -high), (None if low is None else -low)
    if set(kinds) == {"continuous"}:
        return "on continuous variables alone"
    if "continuous" in kinds:
        bound = "integer" not in kinds and len(kinds) == 2
        return "variable bound (a binary switches a continuous variable)" if bound else "mixed-integer"
    if "integer" in kinds:
        return "on integer variables, not all of them binary"
    if set(values) == {1.0}:
        side = high if low is None else low
        number = "1" if side == 1 else "k"
        if low == high:
            name = "set partitioning" if side == 1 else "cardinality"
            return f"{name} (sum of binaries = {number})"
        if low is None:
            return f"{'set packing' if side == 1 else 'packing'} (sum of binaries <= {number})"
        if high is None:
            return f"{'set covering' if side == 1 else 'covering'} (sum of binaries >= {number})"
    if min(values, default=0.0) > 0:
        return "knapsack equation" if low == high else "knapsack" if low is None else "knapsack covering"
    return "precedence of two binaries" if len(values) == 2 else "on binaries, with both signs"


_READ: Final = 8  # most instances whose range is taken


def likeness_of(instances: Sequence[Path]) -> Likeness:
    """Return the ranges of the first `_READ` instance files."""
    shapes = [shape(read_model(path)) for path in instances[:_READ]]
    ranges = {name: (round(min(of), 2), round(max(of), 2)) for name, of in _by_name(shapes).items()}
    return Likeness(ranges=ranges)
