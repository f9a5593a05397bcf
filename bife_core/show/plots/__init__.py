"""Figures of a search and of an evaluation; each function returns a `matplotlib.figure.Figure` of its own.

Nothing is shown, saved or kept in global state. `save` writes a figure as PNG, SVG and PDF, and `inline_svg` puts it
into a page.
"""

from bife_core.show.plots.comparisons import plot as plot, ratio_figure as ratio_figure
from bife_core.show.plots.evaluation import instance_costs as instance_costs, ratios as ratios, steps as steps
from bife_core.show.plots.search import fidelity_scatter as fidelity_scatter, progress as progress
from bife_core.show.plots.style import inline_svg as inline_svg, save as save
