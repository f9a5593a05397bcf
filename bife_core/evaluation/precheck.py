"""Where SCIP's time goes on a few instances, by its own clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bife_core.scip.solving import SolveResult
from bife_core.wording import counted

_PARTS: Final = ("presolving", "separation", "heuristics", "propagation", "branching")


def time_sentence(results: Sequence[SolveResult | None]) -> str:
    """Return the share of each part of SCIP in the CPU time of RPB's solves; None is one without a result.

    It promises nothing: the shares do not say what a rule or settings save.
    """
    solved = f"{sum(one is not None for one in results)} of {counted(len(results), 'instance')}"
    known = [one for one in results if one is not None and one.presolving_s is not None and one.cpu_s > 0]
    if not known:
        return f"Where SCIP's time goes is not known: RPB has a result on {solved}."
    every_s = math.fsum(one.cpu_s for one in known)
    shares = {part: sum(getattr(one, f"{part}_s") or 0.0 for one in known) / every_s for part in _PARTS}
    parts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    rest = 100 * max(1.0 - math.fsum(shares.values()), 0.0)  # heuristics propagate: two clocks count it
    return f"SCIP's CPU time goes into {parts}, and LPs at nodes and the rest {rest:.0f} % ({solved}, RPB branches)."
