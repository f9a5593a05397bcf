"""A mixed-integer program as arrays, put together piece by piece, and written as MPS text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, groupby
from math import inf, isfinite, isinf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class MilpData:
    """Optimise `objective @ x` over `row_lower <= rows @ x <= row_upper` and `lower <= x <= upper`.

    Of n columns and m rows, `objective`, `lower`, `upper`, `integer` and `column_names` are (n,), `rows` is (m, n), and
    `row_lower`, `row_upper` and `row_names` are (m,). All names are free of white space, those of columns and of rows
    unique. Bounds and sides are infinite where there is none; of the two sides of a row at least one is finite. An
    integral column with bounds 0 and 1 is binary.
    """

    name: str
    maximise: bool
    objective: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    rows: csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    column_names: Sequence[str]
    row_names: Sequence[str]


class Assembly:
    """A model that grows by columns and rows."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, float, float, float, bool]] = []
        self._rows: list[tuple[str, NDArray[np.int64], NDArray[np.float64], float, float]] = []

    def columns(
        self,
        names: Sequence[str],
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        cost: ArrayLike = 0.0,
        integer: bool = False,
    ) -> NDArray[np.int64]:
        """Add columns, and return their positions; what is one number holds for all."""
        first, n = len(self._columns), len(names)
        values = (
            np.broadcast_to(np.asarray(given, np.float64), n).tolist() for given in (lower, upper, cost)
        )
        self._columns += zip(names, *values, [integer] * n, strict=True)
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
        self._rows.append((name, where, np.broadcast_to(coefficients, where.shape), low, high))

    def sums(self, rows: Iterable[ArrayLike], *, low: float = -inf, high: float = inf) -> None:
        """Add ``low <= sum(x[columns]) <= high`` for the columns of each row, named c1, c2 and so on."""
        for number, columns in enumerate(rows, start=1):
            self.row(f"c{number}", columns, low=low, high=high)

    def model(self, name: str, *, maximise: bool = False) -> MilpData:
        """Return what was assembled, without coefficients that are zero."""
        column_names, lower, upper, cost, integer = zip(*self._columns, strict=True)
        names, columns, coefficients, low, high = zip(*self._rows, strict=True)
        starts = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
        rows = csr_array(
            (np.concatenate(coefficients), np.fromiter(chain.from_iterable(columns), dtype=np.int64), starts),
            shape=(len(names), len(column_names)),
        )
        rows.eliminate_zeros()
        return MilpData(
            name=name,
            maximise=maximise,
            objective=np.array(cost),
            lower=np.array(lower),
            upper=np.array(upper),
            integer=np.array(integer),
            rows=rows,
            row_lower=np.array(low, dtype=np.float64),
            row_upper=np.array(high, dtype=np.float64),
            column_names=column_names,
            row_names=names,
        )


_OBJECTIVE = "obj"


def mps_text(model: MilpData) -> str:
    """Return `model` in free MPS; raises ValueError if a row has no finite side.

    The text depends on the values alone, and every number is the shortest one that parses to the same double. All
    bounds of integral columns are written out, because readers disagree on their defaults. A row with two different
    sides is stated by their distance, so there the left side may be off by rounding.
    """
    head = [f"NAME {model.name}", "OBJSENSE", " MAX" if model.maximise else " MIN"]
    rows, right, ranges = ["ROWS", f" N {_OBJECTIVE}"], ["RHS"], ["RANGES"]
    sides = (model.row_lower.tolist(), model.row_upper.tolist())
    for name, low, high in zip(model.row_names, *sides, strict=True):
        if isinf(low) and isinf(high):
            raise ValueError(f"row {name} has no finite side; leave it out of the instance")
        sense = "E" if low == high else "G" if isinf(high) else "L"
        rows.append(f" {sense} {name}")
        if side := low if sense == "G" else high:
            right.append(f" rhs {name} {_number(side)}")
        if sense == "L" and isfinite(low):
            ranges.append(f" range {name} {_number(high - low)}")
    binary = model.integer & (model.lower == 0) & (model.upper == 1)
    ranges = ranges if len(ranges) > 1 else []
    body = chain(head, rows, _columns(model, binary), right, ranges, _bounds(model, binary))
    return "\n".join([*body, "ENDATA\n"])


def _number(value: float) -> str:
    """Return the shortest text that parses to the same double, integers without a decimal point."""
    return repr(value).removesuffix(".0")


def _columns(model: MilpData, binary: NDArray[np.bool_]) -> Iterator[str]:
    matrix = model.rows.tocsc()
    coefficients = [_number(value) for value in matrix.data.tolist()]
    row_names = [model.row_names[i] for i in matrix.indices.tolist()]
    starts = matrix.indptr.tolist()
    objective = [_number(value) for value in model.objective.tolist()]
    # SCIP moves a column about when BV turns it from integral to binary, so only general integers are marked.
    marked = (model.integer & ~binary).tolist()
    yield "COLUMNS"
    markers = count()
    for inside, columns in groupby(range(len(marked)), key=marked.__getitem__):
        if inside:
            yield f" M{next(markers)} 'MARKER' 'INTORG'"
        for j in columns:
            name, begin, end = model.column_names[j], starts[j], starts[j + 1]
            if objective[j] != "0" or begin == end:
                yield f" {name} {_OBJECTIVE} {objective[j]}"
            for k in range(begin, end):
                yield f" {name} {row_names[k]} {coefficients[k]}"
        if inside:
            yield f" M{next(markers)} 'MARKER' 'INTEND'"


def _bounds(model: MilpData, binary: NDArray[np.bool_]) -> Iterator[str]:
    yield "BOUNDS"
    values = (model.integer.tolist(), binary.tolist(), model.lower.tolist(), model.upper.tolist())
    for name, integer, both, low, high in zip(model.column_names, *values, strict=True):
        if both:
            yield f" BV bound {name}"
        elif low == high:
            yield f" FX bound {name} {_number(low)}"
        else:
            if np.isneginf(low):
                yield f" MI bound {name}"
            elif low != 0 or integer:
                yield f" LO bound {name} {_number(low)}"
            if np.isfinite(high):
                yield f" UP bound {name} {_number(high)}"
            elif integer:
                yield f" PL bound {name}"
