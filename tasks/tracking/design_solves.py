"""The table of the solves that F_HF is made of: which rule solved which design instance how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.scip.builtin import RPB
from bife_core.scip.solving import SolveResult


def reference_rows(reference: Reference) -> list[dict[str, Any]]:
    """Return the solves that those of rules are measured by."""
    return [_row(RPB, result, None) for result in reference.results if result is not None]


def rule_rows(name: str, score: HighScore) -> list[dict[str, Any]]:
    """Return the solves of a rule, by its sample's id; those that were cut short in a race are not among them."""
    costs: Iterable[float | None] = (cost for cost in score.costs if cost is not None)
    if len(score.results) != sum(cost is not None for cost in score.costs):
        costs = [None] * len(score.results)
    return [_row(name, result, cost) for result, cost in zip(score.results, costs, strict=True)]


def _row(name: str, result: SolveResult, cost: float | None) -> dict[str, Any]:
    return {
        "rule": name,
        "instance": result.instance,
        "cost": cost,
        "cpu_s": result.cpu_s,
        "root_s": result.root_s,
        "nodes": result.nodes,
        "capped": not result.finished,
        "status": result.status,
    }
