"""Figures of a search, its progress and its fidelities, and of a tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bife_core.base.wording import counted
from bife_core.run.show.plots.style import BLUE, GREY, ORANGE, YELLOW, new_figure, readable_log, tidy
from bife_core.search.types import CostPoint, GenerationSummary, Sample
from bife_core.tuning.tuner import Course


def progress(summaries: Sequence[GenerationSummary]) -> Figure:
    """Draw a search over its generations: F_LF and tau above, best F_HF below; unknown values leave gaps."""
    figure = new_figure(7.0, 5.5)
    low, high = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    generations = [summary.generation for summary in summaries]
    for axes, name, color, marker, label in (
        (low, "best_f_lf", BLUE, "o", "best"),
        (low, "mean_f_lf", YELLOW, "s", "mean of rules alive"),
        (high, "best_f_hf", ORANGE, "D", "best"),
    ):
        values = np.array([getattr(summary, name) for summary in summaries], dtype=float)  # NaN for None
        axes.plot(generations, values, color=color, marker=marker, markersize=4, linewidth=1.6, label=label)
    tau = np.array([summary.tau for summary in summaries], dtype=float)
    low.step(generations, tau, where="post", color=GREY, linestyle="--", linewidth=1.3, label="threshold tau")
    low.set_ylabel("F_LF")
    high.set_ylabel("F_HF (minus mean cost)")
    high.set_xlabel("generation")
    high.xaxis.set_major_locator(MaxNLocator(integer=True))
    low.set_title("Progress of the search")
    for axes in (low, high):
        tidy(axes)
        axes.legend(frameon=False, fontsize=9)
    return figure


def anytime(curve: Sequence[CostPoint]) -> Figure:
    """Draw the best F_HF by CPU seconds in the solver."""
    figure = new_figure(6.5, 3.0)
    axes = figure.subplots()
    points = [(point.solver_s, point.f_hf) for point in curve]
    axes.step(*zip(*points, strict=True), where="post", color=ORANGE, marker="D", markersize=4, linewidth=1.8)
    axes.set_xlabel("CPU seconds in the solver")
    axes.set_ylabel("best F_HF")
    tidy(axes)
    return figure


def fidelity_scatter(samples: Sequence[Sample], tau: float | None = None) -> Figure:
    """Draw F_HF over F_LF of all rules that have both, the best of each named, and tau, if there is one, as a line.

    A search on F_LF alone loses the drop between the best by each (paper, "Limitations of relying solely on F_LF").
    """
    both = [c for c in samples if c.failure is None and c.f_lf is not None and c.f_hf is not None]
    figure = new_figure(6.0, 4.5)
    axes = figure.subplots()
    x, y = (np.array([getattr(c, name) for c in both], dtype=float) for name in ("f_lf", "f_hf"))
    axes.scatter(x, y, s=34, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.6, label="rule")
    if both:
        top_low, top_high = int(np.argmax(x)), int(np.argmax(y))
        named = [(top_low, YELLOW, "s", "best F_LF"), (top_high, ORANGE, "D", "best F_HF")]
        for k, color, marker, label in named if top_low != top_high else named[1:]:
            name = f"{label if top_low != top_high else 'best in both'}: {both[k].id}"
            axes.scatter(x[k], y[k], s=80, color=color, marker=marker, label=name, zorder=3)
        if y[top_low] < y[top_high]:
            axes.vlines(x[top_low], y[top_low], y[top_high], colors=GREY, linewidth=1.2, linestyles=":")
            text = f"drop {y[top_low] / y[top_high] - 1:.0%}" if y[top_high] < 0 else "drop"
            middle = (y[top_low] + y[top_high]) / 2
            axes.annotate(
                text, (x[top_low], middle), xytext=(6, 0), textcoords="offset points", fontsize=9, va="center"
            )
    if tau is not None:
        axes.axvline(tau, color=GREY, linestyle="--", linewidth=1.3, label=f"tau {tau:.3g}")
    axes.set_xlabel("F_LF")
    axes.set_ylabel("F_HF (minus mean cost)")
    rank = ""
    if len(set(x)) > 1 and len(set(y)) > 1:
        rank = f", rank correlation {float(scipy.stats.spearmanr(x, y).statistic):.2f}"
    axes.set_title(f"Low against high fidelity, {counted(len(both), 'rule')}{rank}")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


def trials(course: Course, label: str = "ratio to SCIP default settings") -> Figure:
    """Draw the ratio of each trial over the CPU seconds by then, and that of the best by then as a line."""
    figure = new_figure(6.5, 3.4)
    axes = figure.subplots()
    seconds, ratios, best = zip(*course, strict=True)
    compared = [ratio if ratio else float("nan") for ratio in ratios]
    axes.scatter(seconds, compared, s=16, color=BLUE, alpha=0.75, linewidth=0, label="trial")
    axes.step(seconds, best, where="post", color=ORANGE, linewidth=1.8, label=f"best by then, {best[-1]:.3g}")
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1.0)
    readable_log(axes, "y")
    axes.set_xlabel(f"CPU seconds of solves, {len(course) - 1} trials")
    axes.set_ylabel(label)
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure
