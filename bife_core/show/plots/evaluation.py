"""Figures of an evaluation: ratios to the baseline with their intervals, and what each instance cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from bife_core.base.stats import geometric_mean
from bife_core.show.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    label as shown,
    new_figure,
    readable_log,
    tidy,
)

_NAMED_INSTANCES: Final = 60
"""Above this many instances their names would overlap."""


def ratios(intervals: Sequence[tuple[str, float, float | None, float | None]], label: str) -> Figure:
    """Draw names, ratios to a baseline and the ends of their intervals; below 1 a method is better."""
    figure = new_figure(6.5, 0.42 * len(intervals) + 1.4)
    axes = figure.subplots()
    for row, (_, ratio, low, high) in enumerate(intervals):
        colour = GREEN if high is not None and high < 1 else ORANGE if low is not None and low > 1 else GREY
        axes.plot([low or ratio, high or ratio], [row, row], color=colour, linewidth=2.4)
        axes.plot(ratio, row, color=colour, marker="o", markersize=7)
        axes.annotate(
            f"{ratio:.3g}", (ratio, row), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8
        )
    axes.axvline(1.0, color=GREY, linestyle="--", linewidth=1.0)
    axes.margins(x=0.15, y=0.25)
    readable_log(axes)
    axes.set_yticks(range(len(intervals)), [shown(name) for name, *_ in intervals])
    axes.invert_yaxis()
    axes.set_xlabel(label, parse_math=False)
    tidy(axes, grid="x")
    return figure


def steps(given: Sequence[tuple[str, float | None]], label: str) -> Figure:
    """Draw how a ratio goes on from 1, by names of steps and what it is after each, None where that is unknown."""
    ends = [1.0]
    for _, ratio in given:
        ends.append(ratio or ends[-1])
    names = [name if ratio else f"not measured: {name}" for name, ratio in given]
    figure = ratios([(name, end, None, None) for name, end in zip(names, ends[1:], strict=True)], label)
    for row, (before, after) in enumerate(pairwise(ends)):
        colour = GREEN if after < before else ORANGE
        figure.axes[0].plot([before, after], [row, row], color=colour, linewidth=9.0, solid_capstyle="butt")
    return figure


def instance_costs(
    costs: Sequence[tuple[str, float, float]], *, rule_label: str, baseline_label: str, unit: str
) -> Figure:
    """Draw what each instance cost with the rule and the baseline, both positive, the greatest saving on top."""
    rule_label, baseline_label = shown(rule_label), shown(baseline_label)
    ordered = sorted(costs, key=lambda cost: (cost[2] / cost[1], cost[0]))
    names = [name for name, *_ in ordered]
    ours, theirs = np.array([cost for _, *cost in ordered]).T
    rows, few = np.arange(len(names)), len(names) <= _NAMED_INSTANCES
    figure = new_figure(7.0, max(2.4, 0.24 * len(names) + 1.2) if few else 7.0)
    axes = figure.subplots()
    axes.hlines(rows, ours, theirs, colors=np.where(ours < theirs, GREEN, GREY).tolist(), linewidth=1.6)
    size = 30 if few else 9
    axes.scatter(theirs, rows, s=size, color=ORANGE, marker="s", label=baseline_label, zorder=3)
    axes.scatter(ours, rows, s=size, color=BLUE, marker="o", label=rule_label, zorder=3)
    readable_log(axes)
    axes.set_xlabel(unit)
    axes.set_yticks(rows if few else [], [*map(shown, names)] if few else [], fontsize=8)
    if not few:
        axes.set_ylabel(f"{len(names)} instances")
    axes.set_title(f"{rule_label} / {baseline_label} = {geometric_mean(ours / theirs):.2f} (geometric mean)")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9, loc="best")
    return figure
