"""How complex rules are: the paper's five measures on five axes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from bife_core.plots.style import GRID, SERIES, new_figure
from bife_core.rules import Complexity


def complexity_radar(rules: Mapping[str, Complexity]) -> Figure:
    """Draw rules on five axes, each scaled to the greatest value among them.

    Raises
    ------
    ValueError
        If there is no rule.
    """
    if not rules:
        raise ValueError("A radar of rule complexity needs at least one rule.")
    measured = {name: measures.to_dict() for name, measures in rules.items()}
    axes_names = list(next(iter(measured.values())))
    greatest = {name: max(values[name] for values in measured.values()) for name in axes_names}
    angles = np.linspace(0, 2 * np.pi, len(axes_names), endpoint=False)
    figure = new_figure(6.0, 4.6)
    axes = figure.add_subplot(projection="polar")
    for number, (name, values) in enumerate(measured.items()):
        shares = [values[key] / max(greatest[key], 1) for key in axes_names]
        closed = [*shares, shares[0]]
        color = SERIES[number % len(SERIES)]
        axes.plot([*angles, angles[0]], closed, color=color, linewidth=1.8, label=name)
        axes.fill([*angles, angles[0]], closed, color=color, alpha=0.12)
    labels = [f"{name.replace('_', ' ')}\n(up to {greatest[name]})" for name in axes_names]
    axes.set_xticks(angles, labels, fontsize=9)
    axes.tick_params(axis="x", pad=16)
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0], [])
    axes.grid(color=GRID)
    axes.spines["polar"].set_color(GRID)
    axes.set_title("Complexity of the rules")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.08, 1.0))
    return figure
