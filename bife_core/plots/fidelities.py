"""How far agreement with recorded decisions tells how fast a rule solves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bife_core.plots.style import BLUE, GREY, ORANGE, YELLOW, new_figure, number, tidy
from bife_core.search.types import Sample
from bife_core.wording import counted


def fidelity_scatter(samples: Sequence[Sample]) -> Figure:
    """Draw F_HF over F_LF for all rules that have both; the rules best in either are named.

    The drop from the best rule to the one best by F_LF is what a search on F_LF alone would have lost (paper,
    section "Limitations of relying solely on F_LF").

    Parameters
    ----------
    samples : sequence of Sample
        Those without both fidelities are left out.
    """
    both = [c for c in samples if c.failure is None and c.f_lf is not None and c.f_hf is not None]
    figure = new_figure(6.0, 4.5)
    axes = figure.subplots()
    x = [number(c.f_lf) for c in both]
    y = [number(c.f_hf) for c in both]
    axes.scatter(x, y, s=34, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.6, label="rule")
    if both:
        top_low, top_high = int(np.argmax(x)), int(np.argmax(y))
        named = (
            ((top_low, YELLOW, "s", "best F_LF"), (top_high, ORANGE, "D", "best F_HF"))
            if top_low != top_high
            else ((top_high, ORANGE, "D", "best in both"),)
        )
        for k, color, marker, label in named:
            axes.scatter(
                x[k], y[k], s=80, color=color, marker=marker, label=f"{label}: {both[k].id}", zorder=3
            )
        _mark_drop(axes, (x[top_low], y[top_low]), (x[top_high], y[top_high]))
    axes.set_xlabel("F_LF")
    axes.set_ylabel("F_HF (minus mean cost)")
    correlation = rank_correlation(both)
    told = "" if correlation is None else f", rank correlation {correlation:.2f}"
    axes.set_title(f"Low against high fidelity, {counted(len(both), 'rule')}{told}")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


def rank_correlation(samples: Sequence[Sample]) -> float | None:
    """Return Spearman's correlation of F_LF and F_HF over the rules that have both; None where it is undefined."""
    both = [(c.f_lf, c.f_hf) for c in samples if c.f_lf is not None and c.f_hf is not None]
    if len({low for low, _ in both}) < 2 or len({high for _, high in both}) < 2:
        return None
    return float(scipy.stats.spearmanr(*zip(*both, strict=True)).statistic)


def fidelity_drop(samples: Sequence[Sample]) -> float | None:
    """Return by how much the cost of the rule best by F_LF exceeds that of the best rule, as a share of the latter.

    Among rules of equal F_LF the first counts. None where no rule has both fidelities, or costs are not positive.
    """
    both = [(c.f_lf, c.f_hf) for c in samples if c.f_lf is not None and c.f_hf is not None]
    if not both:
        return None
    chosen = max(both, key=lambda pair: pair[0])[1]
    best = max(high for _, high in both)
    return None if best >= 0 else chosen / best - 1


def _mark_drop(axes: Axes, low: tuple[float, float], high: tuple[float, float]) -> None:
    if low[1] >= high[1]:
        return
    axes.plot([low[0], low[0]], [low[1], high[1]], color=GREY, linewidth=1.2, linestyle=":")
    axes.annotate(
        f"drop {(low[1] / high[1] - 1):.0%}" if high[1] < 0 else "drop",
        (low[0], (low[1] + high[1]) / 2),
        xytext=(6, 0),
        textcoords="offset points",
        fontsize=9,
        va="center",
    )
