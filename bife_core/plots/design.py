"""What finding a rule cost, and how good the rule was by when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bife_core.plots.style import MARKERS, SERIES, new_figure, tidy
from bife_core.search.cost import PARTS, SearchCost

LABELS = {"f_lf": "F_LF", "f_hf": "F_HF"}
"""Parts of the design time that are spelled otherwise in a figure."""


def design_time(costs: Sequence[SearchCost]) -> Figure:
    """Draw the rule-design time of each search by what it went on."""
    figure = new_figure(6.5, 0.55 * len(costs) + 1.6)
    axes = figure.subplots()
    rows = np.arange(len(costs))
    left = np.zeros(len(costs))
    for number, part in enumerate(PARTS):
        seconds = np.array([cost.parts[part] for cost in costs])
        if seconds.any():
            axes.barh(
                rows, seconds, left=left, height=0.62, color=SERIES[number], label=LABELS.get(part, part)
            )
        left += seconds
    for row, total in enumerate(left):
        axes.annotate(
            f"{total:.3g} s", (total, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_yticks(rows, [cost.search for cost in costs])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("seconds of work")
    axes.set_title("Rule-design time")
    tidy(axes, grid="x")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=len(PARTS))
    return figure


def anytime_curves(costs: Sequence[SearchCost]) -> Figure:
    """Draw the best F_HF of each search against the CPU seconds spent in the solver by then."""
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    for number, cost in enumerate(costs):
        if not cost.curve:
            continue
        seconds = [point.solver_s for point in cost.curve]
        best = [point.f_hf for point in cost.curve]
        axes.step(
            [*seconds, max(cost.solver_s, seconds[-1])],
            [*best, best[-1]],
            where="post",
            color=SERIES[number % len(SERIES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=cost.search,
        )
    axes.set_xlabel("CPU seconds in the solver")
    axes.set_ylabel("best F_HF (minus mean cost)")
    axes.set_title("Quality against solver time")
    tidy(axes)
    if sum(bool(cost.curve) for cost in costs) > 1:
        axes.legend(frameon=False, fontsize=9)
    return figure
