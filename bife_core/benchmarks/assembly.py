"""Build a model block by block, where rows and columns follow from data rather than from a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bife_core.benchmarks.milp import MilpData


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

    def charge(self, costs: Mapping[int, float]) -> None:
        """Set the objective coefficients of single columns."""
        for column, cost in costs.items():
            self._cost[column] = cost

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
