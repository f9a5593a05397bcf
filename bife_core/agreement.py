"""Whether solves of one instance prove the same: a branching rule may change how long it takes, never what is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bife_core.scip.solving import SolveResult

TOLERANCE: Final = 1e-5
"""Part of an objective, or of 1 if that is more, by which SCIP's own tests let two optima differ (`check/check.awk`).

SCIP takes rows as met to within 1e-6, so under another seed RPB itself ends more than that away from its optimum.
"""


def disagree(a: SolveResult, b: SolveResult) -> bool:
    """Whether two solves of one instance prove different things; one without a proof contradicts nothing."""
    if not (a.proven and b.proven):
        return False
    if a.status != b.status:
        # SCIP may stop at "infeasible or unbounded", which contradicts neither.
        return {a.status, b.status} not in ({"inforunbd", "infeasible"}, {"inforunbd", "unbounded"})
    if a.primal_bound is None or b.primal_bound is None:
        return a.primal_bound is not b.primal_bound
    scale = max(1.0, abs(a.primal_bound), abs(b.primal_bound))
    return abs(a.primal_bound - b.primal_bound) > TOLERANCE * scale


def contradictions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance of which two solves prove different things; there should be none."""
    solves = list(results)
    found: dict[str, str] = {}
    for result, sentence in zip(solves, refuted(solves, [True] * len(solves)), strict=True):
        if sentence is not None:
            found.setdefault(result.instance, sentence)
    return tuple(found.values())


def refuted(results: Sequence[SolveResult | None], trusted: Sequence[bool]) -> list[str | None]:
    """Return for each solve why its proof is wrong, or None: the first trusted proof of its instance differs.

    `trusted` says of each solve whether it is of the method that others are measured by.
    """
    proven: dict[str, SolveResult] = {}
    for result, certain in zip(results, trusted, strict=True):
        if certain and result is not None and result.proven:
            proven.setdefault(result.instance, result)
    return [
        _sentence(first, result)
        if result and (first := proven.get(result.instance)) and disagree(first, result)
        else None
        for result in results
    ]


def _sentence(a: SolveResult, b: SolveResult) -> str:
    return (
        f"{a.instance}: {a.method} ended {a.status} with {a.primal_bound}, "
        f"{b.method} ended {b.status} with {b.primal_bound}."
    )
