"""Whether solves of one model prove the same: a branching rule may change how long it takes, never what is found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bife_core.scip.solving import SolveResult

OBJECTIVE_TOLERANCE: Final = 1e-6
"""Relative difference within which two proven optima are the same."""


def disagree(a: SolveResult, b: SolveResult) -> bool:
    """Whether two finished solves of one model prove different things."""
    if not (a.finished and b.finished):
        return False
    if a.status != b.status:
        # SCIP may stop at "infeasible or unbounded", which contradicts neither.
        return {a.status, b.status} not in ({"inforunbd", "infeasible"}, {"inforunbd", "unbounded"})
    if a.primal_bound is None or b.primal_bound is None:
        return a.primal_bound is not b.primal_bound
    scale = max(1.0, abs(a.primal_bound), abs(b.primal_bound))
    return abs(a.primal_bound - b.primal_bound) > OBJECTIVE_TOLERANCE * scale


def contradictions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance of which two solves prove different things; there should be none.

    Each solve is compared with the first finished one of its instance.
    """
    proven: dict[str, SolveResult] = {}
    found: dict[str, str] = {}
    for result in results:
        first = proven.get(result.instance)
        if first is None:
            if result.finished:
                proven[result.instance] = result
        elif disagree(first, result):
            found.setdefault(result.instance, _sentence(first, result))
    return tuple(found.values())


def _sentence(a: SolveResult, b: SolveResult) -> str:
    return (
        f"{a.instance}: {a.method} ended {a.status} with {a.primal_bound}, "
        f"{b.method} ended {b.status} with {b.primal_bound}."
    )
