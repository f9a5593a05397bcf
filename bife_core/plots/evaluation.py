"""Figures of an evaluation: costs, performance profiles and time in branching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bife_core.plots.style import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    SERIES,
    SKY,
    new_figure,
    readable_log,
    tidy,
)
from bife_core.stats import Costs, collapse_seeds, geometric_mean, log_ratios, ratio_interval

NAMED_INSTANCES: Final = 60
"""Above this many instances their names would overlap."""

MOST_ACROSS: Final = 2
"""Settings drawn side by side; more would be too small to read."""


def instance_costs(
    rule: Mapping[str, Sequence[float]],
    baseline: Mapping[str, Sequence[float]],
    *,
    rule_label: str,
    baseline_label: str,
    unit: str,
) -> Figure:
    """Draw what each instance cost with the rule and with the baseline, on a logarithmic scale.

    Instances are ordered by their ratio, the greatest saving on top. Seeds are collapsed by geometric mean.

    Parameters
    ----------
    rule, baseline : mapping
        Instance to its positive costs, one per seed.

    Raises
    ------
    ValueError
        If the costs do not pair up or are not positive.
    """
    logs = log_ratios(rule, baseline)
    ours, theirs = collapse_seeds(rule), collapse_seeds(baseline)
    order = np.argsort(-logs, kind="stable")
    rows = np.arange(len(order))
    few = len(order) <= NAMED_INSTANCES
    figure = new_figure(7.0, max(2.4, 0.24 * len(order) + 1.2) if few else 7.0)
    axes = figure.subplots()
    cheaper = logs[order] < 0
    axes.hlines(
        rows, ours[order], theirs[order], colors=np.where(cheaper, GREEN, GREY).tolist(), linewidth=1.6
    )
    size = 30 if few else 9
    axes.scatter(theirs[order], rows, s=size, color=ORANGE, marker="s", label=baseline_label, zorder=3)
    axes.scatter(ours[order], rows, s=size, color=BLUE, marker="o", label=rule_label, zorder=3)
    readable_log(axes)
    axes.set_xlabel(unit)
    if few:
        axes.set_yticks(rows, [sorted(rule)[k] for k in order], fontsize=8)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(order)} instances")
    axes.set_title(f"{rule_label} / {baseline_label} = {geometric_mean(np.exp(logs)):.2f} (geometric mean)")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9, loc="best")
    return figure


def method_costs(costs: Mapping[str, Mapping[str, Costs]], *, unit: str, confidence: float = 0.95) -> Figure:
    """Draw the geometric mean of each method's costs with its bootstrap interval over instances, by setting.

    Parameters
    ----------
    costs : mapping
        Setting to method to costs by instance, as in `bife_core.stats`.
    confidence : float
        Level of the intervals.
    """
    settings = list(costs)
    methods = list(dict.fromkeys(method for by_method in costs.values() for method in by_method))
    across = min(len(settings), MOST_ACROSS)
    down = -(-len(settings) // across) if across else 1
    figure = new_figure(max(5.0, 3.4 * across + 1.0), (0.42 * len(methods) + 1.5) * down)
    grid = figure.subplots(down, across or 1, sharey=True, squeeze=False)
    panels = grid.ravel()
    for axes in panels[len(settings) :]:
        axes.set_visible(False)
    for axes, setting in zip(panels, settings, strict=False):
        for row, method in enumerate(methods):
            if method not in costs[setting]:
                continue
            logs = np.log(collapse_seeds(costs[setting][method]))
            found = ratio_interval(np.exp(logs), np.ones_like(logs), confidence=confidence)
            low, high = found.low or found.ratio, found.high or found.ratio
            axes.plot([low, high], [row, row], color=SERIES[row % len(SERIES)], linewidth=2.4)
            axes.plot(
                found.ratio,
                row,
                color=SERIES[row % len(SERIES)],
                marker=MARKERS[row % len(MARKERS)],
                markersize=7,
            )
            axes.annotate(
                f"{found.ratio:.3g}",
                (found.ratio, row),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.margins(x=0.15, y=0.2)
        readable_log(axes)
        axes.set_xlabel(unit)
        axes.set_title(setting)
        tidy(axes, grid="x")
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()  # of all, since they share it
    return figure


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


def inference_share(parts: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw each method's mean time with the part spent in branching.

    Parameters
    ----------
    parts : mapping
        Method to (mean seconds in branching, mean seconds in all).
    """
    figure = new_figure(6.0, 0.5 * len(parts) + 1.4)
    axes = figure.subplots()
    rows = np.arange(len(parts))
    branching = np.array([inner for inner, _ in parts.values()])
    total = np.array([outer for _, outer in parts.values()])
    axes.barh(rows, total - branching, left=branching, color=SKY, height=0.62, label="all else")
    axes.barh(rows, branching, color=BLUE, height=0.62, label="branching")
    for row, (inner, outer) in enumerate(zip(branching, total, strict=True)):
        share = f"{inner / outer:.1%}" if outer else "-"
        axes.annotate(share, (outer, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(rows, list(parts))
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("mean CPU seconds of a solve")
    axes.set_title("Time in branching")
    tidy(axes, grid="x")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    return figure
