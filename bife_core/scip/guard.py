"""When a deployed rule has to step aside for SCIP's default branching."""

from __future__ import annotations

from pydantic import Field

from bife_core.values import Value


class Guard(Value):
    """Conditions under which `attach` falls back to reliability pseudocost branching (RPB).

    A guarded rule is asked only while its time stays within bounds, and its answer counts only if at least one
    score is finite; a rule that raises falls back too. Each fallback is counted (`BranchingStats`).

    Notes
    -----
    The share is taken anew at every branching, so a rule that was set aside is asked again once the solve has gone
    on long enough without it. The clock is looked at between calls: a single call that never returns cannot be
    ended from here.
    """

    max_share: float = Field(
        0.1, gt=0, le=1, description="Share of the solving time features and rule may take together."
    )
    grace_s: float = Field(
        0.2, ge=0, description="Seconds they may take in any case, so that short solves are left alone."
    )


def as_guard(guard: bool | Guard) -> Guard | None:
    """Return the settings that ``guard=`` names: True means the defaults, False none."""
    if isinstance(guard, Guard):
        return guard
    return Guard() if guard else None
