"""Write a model as free-format MPS text from which SCIP reads back the very same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from bife_core.benchmarks.milp import MilpData

_OBJECTIVE = "obj"


def mps_text(model: MilpData) -> str:
    """Return `model` in free MPS.

    The text depends on the values alone, and every number is the shortest one that parses to the same
    double. Maximisation is stated in an OBJSENSE section instead of by turning signs, and all bounds of
    integral columns are written out, because readers disagree on their defaults. The format states a row with
    two different sides by their distance, so there, and only there, the left side may be off by rounding.

    Parameters
    ----------
    model : MilpData
        The model; its names must be free of white space, and no row may be called ``obj``.

    Raises
    ------
    ValueError
        If a row has no finite side: it would constrain nothing.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from bife_core.benchmarks.milp import binary_program
    >>> pair = csr_array(np.ones((1, 2)))
    >>> text = mps_text(binary_program("pair", maximise=True, objective=np.ones(2), rows=pair, row_upper=1))
    >>> text.splitlines()[:5]
    ['NAME pair', 'OBJSENSE', ' MAX', 'ROWS', ' N obj']
    """
    lines = [f"NAME {model.name}", "OBJSENSE", " MAX" if model.maximise else " MIN"]
    lines += _rows(model)
    lines += _columns(model)
    lines += _sides(model)
    lines += _bounds(model)
    lines.append("ENDATA\n")
    return "\n".join(lines)


def _binary(model: MilpData) -> NDArray[np.bool_]:
    return np.asarray(model.integer & (model.lower == 0) & (model.upper == 1), dtype=np.bool_)


def _number(value: float) -> str:
    """Return the shortest text that parses to the same double, integers without a decimal point."""
    return repr(float(value)).removesuffix(".0")


def _numbers(values: NDArray[np.float64]) -> list[str]:
    return [_number(value) for value in values.tolist()]


def _rows(model: MilpData) -> Iterator[str]:
    yield "ROWS"
    yield f" N {_OBJECTIVE}"
    for name, low, high in zip(
        model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True
    ):
        if low == high:
            sense = "E"
        elif np.isfinite(high):
            sense = "L"
        elif np.isfinite(low):
            sense = "G"
        else:
            raise ValueError(f"row {name} has no finite side; leave it out of the model")
        yield f" {sense} {name}"


def _columns(model: MilpData) -> Iterator[str]:
    matrix = model.rows.tocsc()
    coefficients = _numbers(matrix.data)
    row_names = [model.row_names[i] for i in matrix.indices.tolist()]
    starts = matrix.indptr.tolist()
    objective = _numbers(model.objective)
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
    for name, low, high in zip(
        model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True
    ):
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
