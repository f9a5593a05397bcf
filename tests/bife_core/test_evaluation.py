"""Comparing a rule with RPB: pairs on one core, seeds averaged, contradictions found."""

from __future__ import annotations

from pathlib import Path

import pytest

from bife_core.benchmarks import Instance
from bife_core.config import EvaluationConfig
from bife_core.errors import SolverError
from bife_core.evaluation import contradictions, disagree, evaluate
from bife_core.rules import load_rule
from bife_core.sandbox import WorkerPool
from bife_core.scip.solving import SolveResult
from bife_core.solves import Brancher

CONFIG = EvaluationConfig(instances=2, seeds=(0, 1), time_limit_s=60)


def outcome(instance: str, bound: float | None, status: str = "optimal", brancher: str = "a") -> SolveResult:
    return SolveResult(
        instance=instance, brancher=brancher, seed=0, status=status, nodes=1, lp_iterations=1, cpu_s=1.0,
        wall_s=1.0, gap=0.0, primal_bound=bound, dual_bound=bound, primal_dual_integral=0.0, versions={},
    )  # fmt: skip


def test_a_rule_is_compared_pair_by_pair_and_pairs_are_reused(
    tiny_auctions: list[Instance], pool: WorkerPool, tmp_path: Path
) -> None:
    rule = Brancher.of(load_rule("pseudocost_product"))
    steps: list[tuple[int, int]] = []
    summary = evaluate(
        rule, tiny_auctions[:2], CONFIG, pool, tmp_path, progress=lambda *step: steps.append(step)
    )
    assert summary.instances == 2
    assert summary.wins + summary.losses <= 2
    assert (summary.mismatches, summary.failures) == ((), ())
    assert len(summary.rows) == 8
    assert {row["brancher"] for row in summary.rows} == {"pseudocost_product", "relpscost"}
    assert steps[-1] == (4, 4)
    assert summary.ci_low is not None
    assert summary.ci_high is not None
    assert summary.ci_low <= summary.ratio <= summary.ci_high
    assert summary.faster == (summary.ci_high < 1)

    again = evaluate(rule, tiny_auctions[:2], CONFIG, pool, tmp_path)
    assert again == summary


def test_the_baseline_against_itself_is_even_in_nodes(
    tiny_auctions: list[Instance], pool: WorkerPool, tmp_path: Path
) -> None:
    config = EvaluationConfig(instances=2, seeds=(0,), time_limit_s=60, baseline="pscost")
    summary = evaluate(Brancher(name="mostinf"), tiny_auctions[:2], config, pool, tmp_path)
    swapped = EvaluationConfig(instances=2, seeds=(0,), time_limit_s=60, baseline="mostinf")
    other = evaluate(Brancher(name="pscost"), tiny_auctions[:2], swapped, pool, tmp_path)
    assert summary.node_ratio == pytest.approx(1 / other.node_ratio)


def test_without_a_pair_there_is_an_error_with_the_reason(pool: WorkerPool, tmp_path: Path) -> None:
    missing = Instance("gone", tmp_path / "gone.mps", "0" * 16)
    with pytest.raises(SolverError, match=r"No pair of solves could be finished.*gone"):
        evaluate(Brancher(name="pscost"), [missing], CONFIG, pool, tmp_path)


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        (outcome("x", 10.0), outcome("x", 10.0 + 1e-7), False),
        (outcome("x", 10.0), outcome("x", 10.1), True),
        (outcome("x", 1e9), outcome("x", 1e9 + 1.0), False),
        (outcome("x", None, "infeasible"), outcome("x", None, "infeasible"), False),
        (outcome("x", None, "infeasible"), outcome("x", 3.0), True),
        (outcome("x", None, "infeasible"), outcome("x", None, "inforunbd"), False),
        (outcome("x", None, "unbounded"), outcome("x", None, "inforunbd"), False),
        (outcome("x", 3.0), outcome("x", None, "inforunbd"), True),
        (outcome("x", None, "infeasible"), outcome("x", None, "unbounded"), True),
        (outcome("x", 9.0, "timelimit"), outcome("x", 3.0), False),
    ],
)
def test_only_finished_solves_can_disagree(a: SolveResult, b: SolveResult, differ: bool) -> None:
    assert disagree(a, b) is differ
    assert disagree(b, a) is differ


def test_contradictions_are_named_once_per_instance() -> None:
    results = [
        outcome("x", 9.0, "timelimit"),
        outcome("x", 3.0, brancher="first"),
        outcome("y", 1.0),
        outcome("x", 4.0, brancher="second"),
        outcome("x", 5.0, brancher="third"),
        outcome("y", 1.0),
    ]
    (sentence,) = contradictions(results)
    assert sentence == "x: first ended optimal with 3.0, second ended optimal with 4.0."
    assert contradictions([]) == ()
