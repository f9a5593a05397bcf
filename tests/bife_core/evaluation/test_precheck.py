"""What RPB's share in branching promises, in a sentence, before a rule is searched for."""

from __future__ import annotations

import pytest

from bife_core.evaluation.precheck import Precheck, gain
from bife_core.scip.solving import SolveResult
from tests.support import measured


def result(
    cpu_s: float, branching_s: float | None, nodes: int, status: str = "optimal", gap: float = 0.0
) -> SolveResult:
    return measured.result(cpu_s=cpu_s, branching_s=branching_s, nodes=nodes, status=status, gap=gap)


def test_seconds_are_pooled_and_the_spread_is_given() -> None:
    found = Precheck.of([result(10.0, 1.0, 100), None, result(30.0, 15.0, 300)])
    assert (found.asked, found.solved, found.share) == (3, 2, pytest.approx(0.4))
    assert found.sentence == (
        "RPB spends 40 % of its CPU time in branching (2 of 3 instances, 10 % to 50 % per instance): a rule that "
        "chooses as well can save that at most, and what it saves in nodes."
    )


def test_below_a_small_share_it_says_that_a_rule_will_hardly_help() -> None:
    found = Precheck.of([result(10.0, 0.2, 20_000)])
    assert found.little
    assert "RPB spends 2 % of its CPU time in branching (1 of 1 instance, 2 % to 2 %" in found.sentence
    assert "a rule will hardly help: it would have to save many of RPB's nodes (20,000 in" in found.sentence
    assert not Precheck.of([result(10.0, 0.5, 20_000)]).little


def test_without_a_result_nothing_is_promised() -> None:
    for results in ([None, None], [result(1.0, None, 5), None]):
        found = Precheck.of(results)
        assert not found.little
        assert found.sentence == "What a rule can save is not known: RPB has a result on 0 of 2 instances."


def test_what_a_method_takes_of_rpbs_time_is_a_mean_over_instances_that_tell() -> None:
    limit = result(14.0, 1.0, 500, "timelimit", 0.071)
    solves = [
        ("a", result(1.0, 0.1, 90), result(4.0, 2.0, 40)),
        ("b", limit, result(5.0, 2.0, 40)),
        ("c", result(5.0, 0.0, 40), limit),
        ("root", result(9.0, 0.0, 1), result(1.0, 0.0, 1)),
        ("both", limit, result(15.2, 0.0, 1, "timelimit", 1.0)),
        ("lost", None, result(1.0, 0.1, 7)),
        ("none", None, None),
    ]
    assert gain("mine", solves, 15.0) == (
        "Without a search, mine takes 0.63 of RPB's CPU time (a: 0.25; b: 3.00 or more; c: 0.33 or less; "
        "root: no branching; both: neither ends within 15 s, its gap is 7.1 % and RPB's 100 %; "
        "lost: no result of mine; none: no result of mine)."
    )


def test_without_an_instance_that_tells_there_is_no_mean() -> None:
    found = gain("mine", [("m", result(1.0, None, 5), None)], 15.0)
    assert found == "Without a search, mine has no ratio to RPB's CPU time (m: no result of RPB)."
