from .evaluation import (
    instance_costs as instance_costs,
    plot as plot,
    ratio_figure as ratio_figure,
    ratios as ratios,
    steps as steps,
)
from .search import fidelity_scatter as fidelity_scatter, progress as progress
from .style import inline_svg as inline_svg, save as save
from .tuning import trials as trials
