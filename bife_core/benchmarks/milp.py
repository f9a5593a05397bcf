"""A mixed-integer linear model as a plain value: what families generate and the writer turns into a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class MilpData:
    """Optimise `objective @ x` over `row_lower <= rows @ x <= row_upper` and `lower <= x <= upper`.

    Attributes
    ----------
    name : str
        Name of the model, free of white space.
    maximise : bool
        Sense of the objective.
    objective : (n,) float64
        Objective coefficients.
    lower, upper : (n,) float64
        Bounds of the columns; infinite where there is none.
    integer : (n,) bool
        Which columns must be integral; an integral column with bounds 0 and 1 is binary.
    rows : (m, n) csr_array of float64
        Coefficients of the rows.
    row_lower, row_upper : (m,) float64
        Sides of the rows; at least one of the two is finite.
    column_names, row_names : sequence of str
        Unique names, free of white space.

    Raises
    ------
    ValueError
        If the shapes do not agree.
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
    """Return a model in 0-1 columns ``x1, x2, ...`` whose rows ``c1, c2, ...`` all have the same sides.

    Examples
    --------
    >>> at_most_one = csr_array(np.ones((1, 2)))
    >>> model = binary_program("pair", maximise=True, objective=np.ones(2), rows=at_most_one, row_upper=1)
    >>> model.column_names, model.upper.tolist()
    (['x1', 'x2'], [1.0, 1.0])
    """
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
