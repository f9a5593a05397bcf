"""How much of the time goes into deciding what to branch on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from bife_core.plots.style import BLUE, SKY, new_figure, tidy


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
