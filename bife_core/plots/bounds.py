"""Primal and dual bound over time, for one instance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from bife_core.plots.style import SERIES, new_figure, tidy
from bife_core.scip.bounds import BoundPoint


def bounds_over_time(traces: Mapping[str, tuple[Sequence[BoundPoint], float]], instance: str) -> Figure:
    """Draw both bounds of each method: primal bounds as full lines, dual ones dashed.

    Parameters
    ----------
    traces : mapping
        Method to (its points in the order of time, the seconds its solve took).
    instance : str
        For the title.
    """
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    final: list[float] = []
    for number, (method, (points, seconds)) in enumerate(traces.items()):
        color = SERIES[number % len(SERIES)]
        times = [point.time_s for point in points] + [seconds]
        for kind, style in (("primal", "-"), ("dual", "--")):
            values = [math.nan if (v := getattr(point, kind)) is None else v for point in points]
            label = method if kind == "primal" else None
            drawn = [*values, *values[-1:]]
            axes.step(times[: len(drawn)], drawn, where="post", color=color, linestyle=style, label=label)
            final += [value for value in values[-1:] if math.isfinite(value)]
    if final:
        low, high = min(final), max(final)
        # Bounds farther from the final ones would hide the rest.
        room = max(high - low, 0.25 * max(abs(low), abs(high)), 1e-9)
        axes.set_ylim(low - room, high + room)
    longest = max((seconds for _, seconds in traces.values()), default=1.0)
    axes.set_xlim(0, longest * 1.02 if np.isfinite(longest) and longest > 0 else 1.0)
    axes.set_xlabel("seconds on SCIP's clock")
    axes.set_ylabel("objective")
    axes.set_title(f"Bounds on {instance}: primal full, dual dashed")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure
