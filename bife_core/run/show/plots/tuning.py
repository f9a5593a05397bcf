"""The figure of a tuning: its trials, and the best of them by then."""

from __future__ import annotations

from matplotlib.figure import Figure

from bife_core.run.show.plots.style import BLUE, GREY, ORANGE, new_figure, readable_log, tidy
from bife_core.tuning.tuner import Course


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
