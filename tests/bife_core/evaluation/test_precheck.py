"""What RPB's share in branching promises, in a sentence, before a rule is searched for."""

from __future__ import annotations

import pytest

from bife_core.evaluation.metrics import precheck
from bife_core.scip.solving import SolveResult


def result(cpu_s: float, branching_s: float | None, nodes: int) -> SolveResult:
    return SolveResult(
        instance="a", method="relpscost", seed=0, status="optimal", nodes=nodes, lp_iterations=1, cpu_s=cpu_s,
        wall_s=cpu_s, gap=0.0, primal_bound=0.0, dual_bound=0.0, primal_dual_integral=0.0, branching_s=branching_s,
        versions={},
    )  # fmt: skip


def test_seconds_are_pooled_and_the_spread_is_given() -> None:
    found = precheck([result(10.0, 1.0, 100), None, result(30.0, 15.0, 300)])
    assert (found.asked, found.solved, found.share) == (3, 2, pytest.approx(0.4))
    assert found.sentence == (
        "RPB spends 40 % of its CPU time in branching (2 of 3 instances, 10 % to 50 % per instance): a rule that "
        "chooses as well can save that at most, and what it saves in nodes."
    )


def test_below_a_small_share_it_says_that_a_rule_will_hardly_help() -> None:
    found = precheck([result(10.0, 0.2, 20_000)])
    assert found.little
    assert "RPB spends 2 % of its CPU time in branching (1 of 1 instance, 2 % to 2 %" in found.sentence
    assert "a rule will hardly help: it would have to save many of RPB's nodes (20,000 in" in found.sentence
    assert not precheck([result(10.0, 0.5, 20_000)]).little


def test_without_a_result_nothing_is_promised() -> None:
    for results in ([None, None], [result(1.0, None, 5), None]):
        found = precheck(results)
        assert not found.little
        assert found.sentence == "What a rule can save is not known: RPB has a result on 0 of 2 instances."
