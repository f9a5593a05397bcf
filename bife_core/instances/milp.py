"""Mixed-integer programs, built by columns and rows, and written as MPS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from math import inf, isfinite, isinf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Column(NamedTuple):
    """A variable; an integral one with bounds 0 and 1 is binary."""

    name: str
    lower: float
    upper: float
    cost: float
    integer: bool

    @property
    def binary(self) -> bool:
        """Whether it is 0 or 1."""
        return self.integer and (self.lower, self.upper) == (0.0, 1.0)


class Row(NamedTuple):
    """``low <= coefficients @ x[columns] <= high``; coefficients may be 0."""

    name: str
    columns: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    low: float
    high: float


class Milp:
    """A mixed-integer linear program that grows by columns and rows, of unique names without white space."""

    def __init__(self, name: str, *, maximise: bool = False) -> None:
        self.name = name
        self.maximise = maximise
        self.variables: list[Column] = []
        self.constraints: list[Row] = []

    def columns(
        self,
        names: Sequence[str],
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        cost: ArrayLike = 0.0,
        integer: bool = False,
    ) -> NDArray[np.int64]:
        """Add columns, and return their positions; bounds and costs may be one number for all."""
        first, n = len(self.variables), len(names)
        values = (np.broadcast_to(np.asarray(v, np.float64), n).tolist() for v in (lower, upper, cost))
        self.variables += map(Column, names, *values, [integer] * n)
        return np.arange(first, first + n)

    def row(
        self,
        name: str,
        columns: ArrayLike,
        coefficients: ArrayLike = 1.0,
        *,
        low: float = -inf,
        high: float = inf,
    ) -> None:
        """Add ``low <= coefficients @ x[columns] <= high``; no column may be named twice."""
        where = np.asarray(columns, dtype=np.int64)
        values = np.broadcast_to(np.asarray(coefficients, np.float64), where.shape)
        self.constraints.append(Row(name, where, values, float(low), float(high)))

    def sums(self, rows: Iterable[ArrayLike], *, low: float = -inf, high: float = inf) -> None:
        """Add ``low <= sum(x[columns]) <= high`` for the columns of each row, named c1, c2 and so on."""
        for number, columns in enumerate(rows, start=1):
            self.row(f"c{number}", columns, low=low, high=high)


_OBJECTIVE: Final = "obj"


def mps_text(model: Milp) -> str:
    """Return `model` in free MPS; raises ValueError if a row has no finite side.

    Numbers are the shortest that parse to the same double. All bounds of integral columns are written, as readers
    disagree on defaults. A row with two sides is stated by their distance, so its left side may be off by rounding.
    """
    head = [f"NAME {model.name}", "OBJSENSE", " MAX" if model.maximise else " MIN"]
    rows, right, ranges = ["ROWS", f" N {_OBJECTIVE}"], ["RHS"], ["RANGES"]
    for name, _, _, low, high in model.constraints:
        if isinf(low) and isinf(high):
            raise ValueError(f"row {name} has no finite side; leave it out of the instance")
        sense = "E" if low == high else "G" if isinf(high) else "L"
        rows.append(f" {sense} {name}")
        if side := low if sense == "G" else high:
            right.append(f" rhs {name} {_number(side)}")
        if sense == "L" and isfinite(low):
            ranges.append(f" range {name} {_number(high - low)}")
    if len(ranges) == 1:
        ranges = []
    return "\n".join([*head, *rows, *_columns(model), *right, *ranges, *_bounds(model), "ENDATA\n"])


def _number(value: float) -> str:
    """Return the shortest text that parses to the same double."""
    return repr(value).removesuffix(".0")


def _columns(model: Milp) -> Iterator[str]:
    entries: list[list[str]] = [[] for _ in model.variables]
    for row in model.constraints:
        for j, value in zip(row.columns.tolist(), row.coefficients.tolist(), strict=True):
            if value:
                entries[j].append(f"{row.name} {_number(value)}")
    yield "COLUMNS"
    markers = count()
    columns = zip(model.variables, entries, strict=True)
    # SCIP moves a column about when BV turns it from integral to binary, so only general integers are marked.
    for marked, group in groupby(columns, key=lambda pair: pair[0].integer and not pair[0].binary):
        if marked:
            yield f" M{next(markers)} 'MARKER' 'INTORG'"
        for column, terms in group:
            if (cost := _number(column.cost)) != "0" or not terms:
                yield f" {column.name} {_OBJECTIVE} {cost}"
            yield from (f" {column.name} {term}" for term in terms)
        if marked:
            yield f" M{next(markers)} 'MARKER' 'INTEND'"


def _bounds(model: Milp) -> Iterator[str]:
    yield "BOUNDS"
    for column in model.variables:
        name, low, high, _, integer = column
        if column.binary:
            yield f" BV bound {name}"
        elif low == high:
            yield f" FX bound {name} {_number(low)}"
        else:
            if low == -inf:
                yield f" MI bound {name}"
            elif low != 0 or integer:
                yield f" LO bound {name} {_number(low)}"
            if isfinite(high):
                yield f" UP bound {name} {_number(high)}"
            elif integer:
                yield f" PL bound {name}"
