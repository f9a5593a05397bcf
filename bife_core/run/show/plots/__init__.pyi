from .evaluation import (
    instance_costs as instance_costs,
    plot as plot,
    ratio_figure as ratio_figure,
    ratios as ratios,
    steps as steps,
)
from .search import (
    anytime as anytime,
    fidelity_scatter as fidelity_scatter,
    progress as progress,
    trials as trials,
)
from .style import data_url as data_url, inline_svg as inline_svg, save as save
