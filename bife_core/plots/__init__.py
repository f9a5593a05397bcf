"""Figures of a search and of an evaluation; each function returns a `matplotlib.figure.Figure` of its own.

Nothing is shown, saved or kept in global state. `save` writes a figure as PNG, SVG and PDF, and `inline_svg` puts it
into a page.
"""

from bife_core.plots.evaluation import (
    inference_share,
    instance_costs,
    method_costs,
    performance_profile,
)
from bife_core.plots.search import (
    anytime_curves,
    complexity_radar,
    design_time,
    fidelity_drop,
    fidelity_scatter,
    lineage,
    progress,
    rank_correlation,
)
from bife_core.plots.style import inline_svg, save

__all__ = [
    "anytime_curves",
    "complexity_radar",
    "design_time",
    "fidelity_drop",
    "fidelity_scatter",
    "inference_share",
    "inline_svg",
    "instance_costs",
    "lineage",
    "method_costs",
    "performance_profile",
    "progress",
    "rank_correlation",
    "save",
]
