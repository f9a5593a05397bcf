"""What is known of a rule when it is registered, and whether that makes it champion."""

from __future__ import annotations

from typing import Final

from bife_core.scip.builtin import RPB
from bife_core.search import Sample
from bife_core.values import Value

FEWEST_INSTANCES: Final = 6
"""Held-out instances a champion needs: with fewer, no exact two-sided paired test can reach the 5 % level."""


class Origin(Value):
    """The search a rule came from; empty for a rule written by hand."""

    evolution_key: str = ""
    evolution_run: str = ""
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    decisions_digest: str = ""
    lineage: str = ""


class Evidence(Origin):
    """What is known of a rule when it is registered; each field becomes a tag of its version."""

    sha: str
    benchmark: str
    size: str
    ratio: float
    ci_low: float | None = None
    ci_high: float | None = None
    confidence: float
    baseline: str
    instances: int
    seeds: int
    mismatches: int = 0
    evaluation_run: str
    test_digest: str
    champion_sha: str = ""
    champion_ratio: float | None = None
    champion_ci_low: float | None = None
    champion_ci_high: float | None = None


class Weighing(Value):
    """Whether the evidence earns a rule the alias ``champion``, and why."""

    promote: bool
    reason: str


def lineage(best: Sample) -> str:
    """Return in one line who wrote a rule from what.

    Examples
    --------
    >>> lineage(Sample(id="g01-c02", generation=1, operator="m1", parents=("g00-c00",)))
    'g01-c02 by m1 from g00-c00'
    """
    parents = f" from {', '.join(best.parents)}" if best.parents else ""
    return f"{best.id} by {best.operator}{parents}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in words."""
    return "no interval" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def weigh(challenger: Evidence, champion: Evidence | None) -> Weighing:
    """Return whether a challenger earns the alias ``champion`` by the numbers alone.

    It must beat RPB on held-out instances, and the present champion on the same ones in the same evaluation, its
    whole interval below 1 both times: two ratios to RPB from two evaluations do not tell which rule is faster.

    Examples
    --------
    >>> evidence = Evidence(sha="a", benchmark="toys", size="test", ratio=0.8, ci_low=0.7, ci_high=1.1,
    ...     confidence=0.95, baseline="relpscost", instances=20, seeds=1, evaluation_run="", test_digest="")
    >>> weigh(evidence, None).reason
    'The interval of its time ratio reaches 1.100, so it may be slower than RPB.'
    """
    against = _against(challenger)
    if against is not None:
        return Weighing(promote=False, reason=against)
    faster = f"It takes {challenger.ratio:.3f} of RPB's CPU time"
    if champion is None:
        return Weighing(promote=True, reason=f"{faster}; there is no champion yet.")
    if champion.sha == challenger.sha:
        return Weighing(promote=True, reason=f"{faster}; the champion is the same rule.")
    if challenger.champion_sha != champion.sha or challenger.champion_ratio is None:
        unknown = "It was not measured side by side with the present champion; evaluate it once more."
        return Weighing(promote=False, reason=unknown)
    low, high = challenger.champion_ci_low, challenger.champion_ci_high
    known = "without interval" if low is None or high is None else f"interval {interval(low, high)}"
    ratio = f"{challenger.champion_ratio:.3f} of the champion's ({known})"
    if high is None or high >= 1.0:
        return Weighing(promote=False, reason=f"{faster}, but {ratio}: it may be slower than the champion.")
    return Weighing(promote=True, reason=f"{faster} and {ratio}.")


def _against(challenger: Evidence) -> str | None:
    """Return why a rule is not known to beat RPB, or None."""
    if challenger.baseline != RPB:
        return f"It was compared with {challenger.baseline}, not with {RPB} (RPB)."
    if challenger.mismatches:
        return "Its solves and RPB's prove different optima, which is a defect."
    if challenger.instances < FEWEST_INSTANCES:
        return f"{challenger.instances} held-out instances are too few, {FEWEST_INSTANCES} are needed."
    high = challenger.ci_high
    if high is None:
        return "Its time ratio has no interval."
    if high >= 1.0:
        return f"The interval of its time ratio reaches {high:.3f}, so it may be slower than RPB."
    return None
