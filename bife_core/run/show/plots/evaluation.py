"""Figures of an evaluation: ratios to the baseline with their intervals, and the costs of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from bife_core.base.arguments import checked
from bife_core.base.stats import geometric_mean
from bife_core.measure.evaluation.comparison import Comparison, Finding, known_as
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.run.show.plots import style
from bife_core.run.show.plots.style import BLUE, GREEN, GREY, ORANGE

_NAMED_INSTANCES: Final = 60  # more names of instances would overlap


@checked
def plot(result: EvaluationSummary) -> Figure:
    """Draw each method's ratio to the baseline with its interval, of what `bife_core.compare` returned."""
    return ratio_figure(result.comparisons)


def ratio_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw the ratio of each method to its baseline with the interval."""
    several = len({comparison.setting for comparison in comparisons}) > 1
    intervals = [
        (f"{c.setting}, {name}" if several else name, c.ratio, c.ci_low, c.ci_high, c.finding)
        for c, name in ((comparison, known_as(comparison.method)) for comparison in comparisons)
    ]
    metrics = dict.fromkeys(METRICS[comparison.metric].words for comparison in comparisons)
    baselines = dict.fromkeys(known_as(comparison.baseline) for comparison in comparisons)
    return ratios(intervals, f"{' or '.join(metrics)}, ratio to {' or '.join(baselines)}")


def ratios(intervals: Sequence[tuple[str, float, float | None, float | None, Finding]], label: str) -> Figure:
    """Draw names, ratios to a baseline (better below 1), and the ends of their intervals coloured by the finding."""
    figure = style.new_figure(6.5, 0.42 * len(intervals) + 1.4)
    axes = figure.subplots()
    for row, (_, ratio, low, high, finding) in enumerate(intervals):
        colour = {"better": GREEN, "worse": ORANGE, "undecided": GREY}[finding]
        axes.plot([low or ratio, high or ratio], [row, row], color=colour, linewidth=2.4)
        axes.plot(ratio, row, color=colour, marker="o", markersize=7)
        axes.annotate(
            f"{ratio:.3g}", (ratio, row), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8
        )
    axes.axvline(1.0, color=GREY, linestyle="--", linewidth=1.0)
    axes.margins(x=0.15, y=0.25)
    style.readable_log(axes)
    axes.set_yticks(range(len(intervals)), [style.label(name) for name, *_ in intervals])
    axes.invert_yaxis()
    axes.set_xlabel(label, parse_math=False)
    style.tidy(axes, grid="x")
    return figure


def steps(changes: Sequence[tuple[str, float | None]], label: str) -> Figure:
    """Draw how a ratio changes from 1, by the name of each step and the ratio after it, None if unknown."""
    ends = [1.0]
    for _, ratio in changes:
        ends.append(ratio or ends[-1])
    names = [name if ratio else f"not measured: {name}" for name, ratio in changes]
    figure = ratios(
        [(name, end, None, None, "undecided") for name, end in zip(names, ends[1:], strict=True)], label
    )
    for row, (before, after) in enumerate(pairwise(ends)):
        colour = GREEN if after < before else ORANGE
        figure.axes[0].plot([before, after], [row, row], color=colour, linewidth=9.0, solid_capstyle="butt")
    return figure


def instance_costs(
    costs: Sequence[tuple[str, float, float]], *, rule_label: str, baseline_label: str, unit: str
) -> Figure:
    """Draw each instance's positive costs with the rule and the baseline, the greatest saving on top."""
    rule_label, baseline_label = style.label(rule_label), style.label(baseline_label)
    ordered = sorted(costs, key=lambda cost: (cost[2] / cost[1], cost[0]))
    names = [name for name, *_ in ordered]
    ours, theirs = np.array([cost for _, *cost in ordered]).T
    rows, few = np.arange(len(names)), len(names) <= _NAMED_INSTANCES
    figure = style.new_figure(7.0, max(2.4, 0.24 * len(names) + 1.2) if few else 7.0)
    axes = figure.subplots()
    axes.hlines(rows, ours, theirs, colors=np.where(ours < theirs, GREEN, GREY).tolist(), linewidth=1.6)
    size = 30 if few else 9
    axes.scatter(theirs, rows, s=size, color=ORANGE, marker="s", label=baseline_label, zorder=3)
    axes.scatter(ours, rows, s=size, color=BLUE, marker="o", label=rule_label, zorder=3)
    style.readable_log(axes)
    axes.set_xlabel(unit)
    axes.set_yticks(rows if few else [], [*map(style.label, names)] if few else [], fontsize=8)
    if not few:
        axes.set_ylabel(f"{len(names)} instances")
    axes.set_title(f"{rule_label} / {baseline_label} = {geometric_mean(ours / theirs):.2f} (geometric mean)")
    style.tidy(axes)
    axes.legend(frameon=False, fontsize=9, loc="best")
    return figure
