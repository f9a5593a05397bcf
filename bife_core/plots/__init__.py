"""Figures of a search and of an evaluation, one file a family.

All functions return a `matplotlib.figure.Figure` of its own: nothing is shown, saved or kept in global state.
`save` writes one as PNG, SVG and PDF, and `inline_svg` puts it into a page.
"""

from bife_core.plots.bounds import bounds_over_time
from bife_core.plots.complexity import complexity_radar
from bife_core.plots.costs import instance_costs, method_costs
from bife_core.plots.design import anytime_curves, design_time
from bife_core.plots.fidelities import fidelity_drop, fidelity_scatter, rank_correlation
from bife_core.plots.inference import inference_share
from bife_core.plots.lineage import lineage
from bife_core.plots.profile import performance_profile
from bife_core.plots.progress import progress
from bife_core.plots.style import inline_svg, save

__all__ = [
    "anytime_curves",
    "bounds_over_time",
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
