"""Figures of a search and of an evaluation; each function returns a `matplotlib.figure.Figure` of its own.

Nothing is shown, saved or kept in global state. `save` writes a figure as PNG, SVG and PDF, and `inline_svg` puts it
into a page.
"""

from bife_core.plots.evaluation import instance_costs, ratios
from bife_core.plots.search import anytime_curves, fidelity_drop, fidelity_scatter, lineage, progress
from bife_core.plots.style import inline_svg, save

__all__ = [
    "anytime_curves",
    "fidelity_drop",
    "fidelity_scatter",
    "inline_svg",
    "instance_costs",
    "lineage",
    "progress",
    "ratios",
    "save",
]
