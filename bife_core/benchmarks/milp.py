"""A mixed-integer program as arrays, put together piece by piece, and written as MPS text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class MilpData:
    """Optimise `objective @ x` over `row_lower <= rows @ x <= row_upper` and `lower <= x <= upper`.

    Of n columns and m rows, `objective`, `lower`, `upper`, `integer` and `column_names` are (n,), `rows` is (m, n), and
    `row_lower`, `row_upper` and `row_names` are (m,); a ValueError says that shapes do not agree. All names are free of
    white space, those of columns and of rows unique. Bounds and sides are infinite where there is none; of the two
    sides of a row at least one is finite. An integral column with bounds 0 and 1 is binary.
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

    def __post_init__(self) -> None:
        m, n = self.rows.shape
        of_columns = ("objective", "lower", "upper", "integer", "column_names")
        of_rows = ("row_lower", "row_upper", "row_names")
        for attribute, expected in (dict.fromkeys(of_columns, n) | dict.fromkeys(of_rows, m)).items():
            found = len(getattr(self, attribute))
            if found != expected:
                raise ValueError(
                    f"{attribute} has {found} entries where the {m} x {n} rows ask for {expected}"
                )


def binary_program(
    name: str,
    *,
    maximise: bool,
    objective: NDArray[np.float64],
    rows: csr_array,
    row_lower: float = -np.inf,
    row_upper: float = np.inf,
) -> MilpData:
    """Return an instance in 0-1 columns ``x1, x2, ...`` whose rows ``c1, c2, ...`` all have the same sides."""
    m, n = rows.shape
    return MilpData(
        name=name,
        maximise=maximise,
        objective=objective,
        lower=np.zeros(n),
        upper=np.ones(n),
        integer=np.ones(n, dtype=np.bool_),
        rows=rows,
        row_lower=np.full(m, row_lower, dtype=np.float64),
        row_upper=np.full(m, row_upper, dtype=np.float64),
        column_names=[f"x{j}" for j in range(1, n + 1)],
        row_names=[f"c{i}" for i in range(1, m + 1)],
    )


def unit_rows(members: Sequence[NDArray[np.int64] | Sequence[int]], columns: int) -> csr_array:
    """Return the 0-1 matrix whose row i has ones in the columns `members[i]`."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in members])])
    indices = np.concatenate([np.asarray(row, dtype=np.int64) for row in members])
    return csr_array((np.ones(len(indices)), indices, starts), shape=(len(members), columns))


class Assembly:
    """A minimisation that grows by columns and rows.

    Examples
    --------
    >>> growing = Assembly()
    >>> x = growing.columns(["x", "y"], 0.0, [1.0, 2.0], cost=1.0)
    >>> growing.row("enough", x, [1.0, 1.0], low=1.5)
    >>> growing.model("two").rows.toarray().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._cost: list[float] = []
        self._integer: list[bool] = []
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
        first, count = len(self._names), len(names)
        self._names += names
        for own, values in ((self._lower, lower), (self._upper, upper), (self._cost, cost)):
            own += np.broadcast_to(np.asarray(values, dtype=np.float64), count).tolist()
        self._integer += [integer] * count
        return np.arange(first, first + count)

    def row(
        self,
        name: str,
        columns: ArrayLike,
        coefficients: ArrayLike,
        *,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> None:
        """Add ``low <= coefficients @ x[columns] <= high``; no column may be named twice."""
        self._rows.append(
            (name, np.asarray(columns, dtype=np.int64), np.asarray(coefficients, dtype=np.float64), low, high)
        )

    def model(self, name: str) -> MilpData:
        """Return what was assembled, without coefficients that are zero."""
        names, columns, coefficients, low, high = zip(*self._rows, strict=True)
        starts = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
        rows = csr_array(
            (np.concatenate(coefficients), np.fromiter(chain.from_iterable(columns), dtype=np.int64), starts),
            shape=(len(names), len(self._names)),
        )
        rows.eliminate_zeros()
        return MilpData(
            name=name,
            maximise=False,
            objective=np.array(self._cost),
            lower=np.array(self._lower),
            upper=np.array(self._upper),
            integer=np.array(self._integer, dtype=np.bool_),
            rows=rows,
            row_lower=np.array(low, dtype=np.float64),
            row_upper=np.array(high, dtype=np.float64),
            column_names=self._names,
            row_names=list(names),
        )


_OBJECTIVE = "obj"


def mps_text(model: MilpData) -> str:
    """Return `model` in free MPS; raises ValueError if a row has no finite side.

    The text depends on the values alone, and every number is the shortest one that parses to the same double. All
    bounds of integral columns are written out, because readers disagree on their defaults. A row with two different
    sides is stated by their distance, so there the left side may be off by rounding.
    """
    head = [f"NAME {model.name}", "OBJSENSE", " MAX" if model.maximise else " MIN"]
    body = chain(_rows(model), _columns(model), _sides(model), _bounds(model))
    return "\n".join([*head, *body, "ENDATA\n"])


def _binary(model: MilpData) -> NDArray[np.bool_]:
    return np.asarray(model.integer & (model.lower == 0) & (model.upper == 1), dtype=np.bool_)


def _number(value: float) -> str:
    """Return the shortest text that parses to the same double, integers without a decimal point."""
    return repr(value).removesuffix(".0")


def _row_sides(model: MilpData) -> Iterator[tuple[str, float, float]]:
    return zip(model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True)


def _rows(model: MilpData) -> Iterator[str]:
    yield "ROWS"
    yield f" N {_OBJECTIVE}"
    for name, low, high in _row_sides(model):
        if low == high:
            sense = "E"
        elif np.isfinite(high):
            sense = "L"
        elif np.isfinite(low):
            sense = "G"
        else:
            raise ValueError(f"row {name} has no finite side; leave it out of the instance")
        yield f" {sense} {name}"


def _columns(model: MilpData) -> Iterator[str]:
    matrix = model.rows.tocsc()
    coefficients = [_number(value) for value in matrix.data.tolist()]
    row_names = [model.row_names[i] for i in matrix.indices.tolist()]
    starts = matrix.indptr.tolist()
    objective = [_number(value) for value in model.objective.tolist()]
    # SCIP moves a column about when BV turns it from integral to binary, so only general integers are marked.
    marked = (model.integer & ~_binary(model)).tolist()
    yield "COLUMNS"
    markers = 0
    inside = False
    for j, name in enumerate(model.column_names):
        if marked[j] != inside:
            inside = marked[j]
            yield f" M{markers} 'MARKER' '{'INTORG' if inside else 'INTEND'}'"
            markers += 1
        begin, end = starts[j], starts[j + 1]
        if objective[j] != "0" or begin == end:
            yield f" {name} {_OBJECTIVE} {objective[j]}"
        for k in range(begin, end):
            yield f" {name} {row_names[k]} {coefficients[k]}"
    if inside:
        yield f" M{markers} 'MARKER' 'INTEND'"


def _sides(model: MilpData) -> Iterable[str]:
    right = ["RHS"]
    ranges = ["RANGES"]
    for name, low, high in _row_sides(model):
        side = high if np.isfinite(high) else low
        if side != 0:
            right.append(f" rhs {name} {_number(side)}")
        if low != high and np.isfinite(low) and np.isfinite(high):
            ranges.append(f" range {name} {_number(high - low)}")
    return right + (ranges if len(ranges) > 1 else [])


def _bounds(model: MilpData) -> Iterator[str]:
    yield "BOUNDS"
    columns = zip(
        model.column_names,
        model.integer.tolist(),
        _binary(model).tolist(),
        model.lower.tolist(),
        model.upper.tolist(),
        strict=True,
    )
    for name, integer, binary, low, high in columns:
        if binary:
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
