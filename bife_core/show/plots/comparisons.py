"""Figures of what an evaluation came to."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bife_core.base.arguments import checked
from bife_core.measure.evaluation.comparison import Comparison, known_as
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.show.plots.evaluation import ratios


@checked
def plot(result: EvaluationSummary) -> Figure:
    """Draw each method's ratio to the baseline with its interval, of what `bife_core.compare` returned."""
    return ratio_figure(result.comparisons)


def ratio_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw the ratio of each method to its baseline with the interval."""
    several = len({comparison.setting for comparison in comparisons}) > 1
    intervals = [
        (f"{c.setting}, {name}" if several else name, c.ratio, c.ci_low, c.ci_high)
        for c, name in ((one, known_as(one.method)) for one in comparisons)
    ]
    metrics = dict.fromkeys(METRICS[comparison.metric].words for comparison in comparisons)
    baselines = dict.fromkeys(known_as(comparison.baseline) for comparison in comparisons)
    return ratios(intervals, f"{' or '.join(metrics)}, ratio to {' or '.join(baselines)}")
