"""Figures of a search and of an evaluation, each a new `matplotlib.figure.Figure`; no global state is used."""

from bife_core.show.plots.evaluation import (
    instance_costs as instance_costs,
    plot as plot,
    ratio_figure as ratio_figure,
    ratios as ratios,
    steps as steps,
)
from bife_core.show.plots.search import fidelity_scatter as fidelity_scatter, progress as progress
from bife_core.show.plots.style import inline_svg as inline_svg, save as save
