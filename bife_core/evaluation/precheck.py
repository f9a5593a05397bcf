"""The pre-check before a search: RPB's branching-time share bounds what a rule can save."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

import pandas as pd

from bife_core.evaluation.metrics import inference_share
from bife_core.scip.solving import SolveResult
from bife_core.values import Value
from bife_core.wording import counted

LITTLE: Final = 0.05
"""Share of branching below which a rule will hardly help."""

_FEW_NODES: Final = 10


class Precheck(Value):
    """How much of its time RPB spends in branching.

    Attributes
    ----------
    asked, models : int
        Instances RPB was to solve, and those it has a result on.
    share : float or None
        Part of RPB's CPU time on all of them that it spends in branching; None where that is not known.
    least, most : float or None
        The same for the single instance with the smallest and the largest share.
    nodes : float
        Median of RPB's nodes.
    """

    asked: int
    models: int
    share: float | None = None
    least: float | None = None
    most: float | None = None
    nodes: float = 0.0

    @property
    def little(self) -> bool:
        """Whether so little is spent in branching that a rule will hardly help."""
        return self.share is not None and self.share < LITTLE

    @property
    def sentence(self) -> str:
        """What a rule can save, and what might help more where that is little."""
        models = counted(self.asked, "instance")
        if self.share is None or self.least is None or self.most is None:
            return f"What a rule can save is not known: RPB has a result on {self.models} of {models}."
        spread = "" if self.models == 1 else f", {_percent(self.least)} to {_percent(self.most)} per instance"
        judged = f"{self.models} of " if self.models < self.asked else ""
        on = f"{judged}{models}{spread}"
        found = (
            f"RPB spends {_percent(self.share)} of its CPU time in branching ({on}): a rule "
            "that chooses as well can save that at most, and what it saves in nodes."
        )
        if not self.little:
            return found
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes:,.0f} nodes"
        where = (
            f"most of the work is done before branching begins ({nodes} in the median)"
            if self.nodes <= _FEW_NODES
            else f"it would have to save many of RPB's {nodes} (median)"
        )
        return (
            f"{found} That is little, so a rule will hardly help: {where}. A tighter formulation, or other cuts, "
            "heuristics and LP settings, may do more."
        )


def precheck(results: Sequence[SolveResult | None]) -> Precheck:
    """Return RPB's branching-time share on some instances.

    Parameters
    ----------
    results : sequence of (SolveResult or None)
        One per instance; None where RPB has none.
    """
    known = [result for result in results if result is not None and result.branching_s is not None]
    if not known:
        return Precheck(asked=len(results), models=0)
    frame = pd.DataFrame([{"branching_s": one.branching_s, "cpu_s": one.cpu_s} for one in known])
    shares = [inference_share(frame.iloc[[row]]) for row in range(len(frame))]
    return Precheck(
        asked=len(results),
        models=len(known),
        share=inference_share(frame),
        least=min(shares),
        most=max(shares),
        nodes=median(one.nodes for one in known),
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")
