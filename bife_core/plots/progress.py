"""How an evolution went, generation by generation."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bife_core.plots.style import BLUE, GREY, ORANGE, YELLOW, new_figure, number, tidy
from bife_core.search.types import GenerationSummary


def progress(summaries: Sequence[GenerationSummary]) -> Figure:
    """Draw an evolution over its generations: F_LF and tau above, best F_HF below.

    Parameters
    ----------
    summaries : sequence of GenerationSummary
        One per generation (`BifeSearch.summaries`); values not yet known leave gaps.
    """
    figure = new_figure(7.0, 5.5)
    low, high = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    generations = [summary.generation for summary in summaries]
    _line(low, generations, [s.best_f_lf for s in summaries], BLUE, "o", "best")
    _line(low, generations, [s.mean_f_lf for s in summaries], YELLOW, "s", "mean of rules alive")
    tau = [number(s.tau) for s in summaries]
    low.step(generations, tau, where="post", color=GREY, linestyle="--", linewidth=1.3, label="threshold tau")
    low.set_ylabel("F_LF")
    _line(high, generations, [s.best_f_hf for s in summaries], ORANGE, "D", "best")
    high.set_ylabel("F_HF (minus mean cost)")
    high.set_xlabel("generation")
    high.xaxis.set_major_locator(MaxNLocator(integer=True))
    low.set_title("Progress of the evolution")
    for axes in (low, high):
        tidy(axes)
        axes.legend(frameon=False, fontsize=9)
    return figure


def _line(
    axes: Axes, x: Sequence[int], y: Sequence[float | None], color: str, marker: str, label: str
) -> None:
    axes.plot(x, [number(v) for v in y], color=color, marker=marker, markersize=4, linewidth=1.6, label=label)
