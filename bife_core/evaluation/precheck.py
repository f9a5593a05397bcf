"""Whether a search is worth it, by a few solves: RPB's branching-time share, and the time another method takes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from bife_core.scip.cost import LEAST
from bife_core.scip.solving import SolveResult
from bife_core.stats import geometric_mean
from bife_core.values import Value
from bife_core.wording import counted

_LITTLE: Final = 0.05
"""Share of branching below which a rule will hardly help."""


class Precheck(Value):
    """How much of its CPU time RPB spends in branching: in all, and on the instances where it is least and most.

    Of the instances `asked` RPB has a result on those `solved`, `share` is None where it has none; `nodes` is the
    median of RPB's nodes.
    """

    asked: int
    solved: int
    share: float | None = None
    least: float = 0.0
    most: float = 0.0
    nodes: float = 0.0

    @classmethod
    def of(cls, results: Sequence[SolveResult | None]) -> Precheck:
        """Return RPB's branching-time share on some instances; None stands for one without a result."""
        known = [one for one in results if one is not None and one.branching_s is not None and one.cpu_s > 0]
        if not known:
            return cls(asked=len(results), solved=0)
        seconds = [one.branching_s or 0.0 for one in known]
        shares = [part / one.cpu_s for part, one in zip(seconds, known, strict=True)]
        return cls(
            asked=len(results),
            solved=len(known),
            share=sum(seconds) / sum(one.cpu_s for one in known),
            least=min(shares),
            most=max(shares),
            nodes=median(one.nodes for one in known),
        )

    @property
    def little(self) -> bool:
        """Whether so little is spent in branching that a rule will hardly help."""
        return self.share is not None and self.share < _LITTLE

    @property
    def sentence(self) -> str:
        """What a rule can save, and what might help more where that is little."""
        instances = counted(self.asked, "instance")
        if self.share is None:
            return f"What a rule can save is not known: RPB has a result on {self.solved} of {instances}."
        share, least, most = (f"{100 * part:.3g} %" for part in (self.share, self.least, self.most))
        found = (
            f"RPB spends {share} of its CPU time in branching ({self.solved} of {instances}, {least} to {most} per "
            "instance): a rule that chooses as well can save that at most, and what it saves in nodes."
        )
        if not self.little:
            return found
        return (
            f"{found} That is little, so a rule will hardly help: it would have to save many of RPB's nodes "
            f"({self.nodes:,.0f} in the median). A tighter formulation, or other cuts, heuristics and LP settings, may "
            "do more."
        )


def gain(
    method: str, solves: Sequence[tuple[str, SolveResult | None, SolveResult | None]], limit_s: float
) -> str:
    """Return in a sentence which part of RPB's CPU time a method takes, by instance: its name, its solve and RPB's.

    A solve without a proof counts with the limit. Where neither has one, or neither branches, there is no ratio.
    """
    ratios, listed = [], []
    for name, own, rpb in solves:
        if own is None or rpb is None:
            listed.append(f"{name}: no result of {method if own is None else 'RPB'}")
        elif not own.finished and not rpb.finished:
            gaps = [f"{100 * one.gap:.3g} %" for one in (own, rpb)]
            listed.append(
                f"{name}: neither ends within {limit_s:g} s, its gap is {gaps[0]} and RPB's {gaps[1]}"
            )
        elif max(own.nodes, rpb.nodes) <= 1:
            listed.append(f"{name}: no branching")
        else:
            seconds = [max(one.cpu_s, LEAST["time"] if one.finished else limit_s) for one in (own, rpb)]
            ratios.append(seconds[0] / seconds[1])
            bound = " or more" if not own.finished else " or less" if not rpb.finished else ""
            listed.append(f"{name}: {ratios[-1]:.2f}{bound}")
    takes = f"takes {geometric_mean(ratios):.2f} of" if ratios else "has no ratio to"
    return f"Without a search, {method} {takes} RPB's CPU time ({'; '.join(listed)})."
