"""How often a method is how close to the best: performance profiles (Dolan and Moré)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bife_core.plots.style import SERIES, new_figure, readable_log, tidy

_DASHES = ("-", "--", "-.", ":")


def performance_profile(costs: Mapping[str, Sequence[float | None]]) -> Figure:
    """Draw for each method the share of solves it finished within a factor of the best method's cost.

    Parameters
    ----------
    costs : mapping
        Method to the cost of each solve, the same solves in the same order for all; None for one that was not
        finished, which no factor reaches.

    Raises
    ------
    ValueError
        If methods have different numbers of solves, or a cost is not positive.
    """
    table = np.array([[np.nan if c is None else c for c in row] for row in costs.values()], dtype=np.float64)
    if table.ndim != 2 or np.any(table <= 0):
        raise ValueError("A performance profile needs positive costs of the same solves for every method.")
    known = table[:, ~np.isnan(table).all(axis=0)]
    factors = known / np.nanmin(known, axis=0)
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    finite = factors[np.isfinite(factors)]
    widest = max(float(finite.max()) if finite.size else 1.0, 1.1) * 1.05
    for number, (method, row) in enumerate(zip(costs, factors, strict=True)):
        reached = np.sort(row[np.isfinite(row)])
        shares = np.arange(1, reached.size + 1) / table.shape[1]
        axes.step(
            [1.0, *reached, widest],
            [0.0, *shares, shares[-1] if shares.size else 0.0],
            where="post",
            color=SERIES[number % len(SERIES)],
            linestyle=_DASHES[number // len(SERIES) % len(_DASHES)],
            linewidth=1.8,
            label=method,
        )
    axes.set_xlim(1.0, widest)
    readable_log(axes)
    axes.set_ylim(0.0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("times the best method's CPU time")
    axes.set_ylabel("solves finished within")
    axes.set_title("Performance profile")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    return figure
