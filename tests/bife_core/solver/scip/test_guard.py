"""A guarded rule: RPB takes over where it gives no finite score or takes too much of the time."""

import time

import pytest

from bife_core import Guard, attach, solve
from bife_core.solver.scip.solve import SolveSettings
from tests.bife_core.solver.scip.test_branching import knapsack, paper_model, rule_of
from tests.support.marks import long_but
from tests.support.weighted import Weighted

SLOW = "t = 0.0\n    for k in range(100):\n        t += math.sin(k * variable_features[18])\n    return t"
STRICT = Guard(max_share=0.002, grace_s=0.0)


@pytest.fixture
def tree(knapsacks):
    """Return a function that solves an instance, and gives its tree and the rule's counters."""

    def solved(body=None, mostinf=100, **options):
        model = paper_model(knapsacks[0].path)
        model.setParam("branching/mostinf/priority", mostinf)
        stats = None if body is None else attach(model, rule_of(body), **options)
        model.optimize()
        return (model.getStatus(), model.getNTotalNodes(), model.getNLPIterations()), stats

    return solved


@pytest.mark.parametrize("number", long_but(["math.inf", "0.0 / 0.0", "-1.0 / 0.0"], ["math.inf"]))
def test_without_a_finite_score_rpb_branches_whatever_else_the_user_prefers(number, tree):
    walked, stats = tree(f"return {number}", mostinf=1_000_000, guard=True)
    assert walked == tree()[0]
    assert stats.undecided == stats.fallbacks == stats.calls > 0


def test_without_a_guard_an_infinite_score_counts_and_scips_next_rule_is_the_users(tree):
    _, stats = tree("return math.inf")
    assert (stats.fallbacks, stats.calls > 0) == (0, True)
    assert tree("return math.nan", mostinf=1_000_000)[0] == tree(mostinf=1_000_000)[0]


@pytest.mark.parametrize("guard", [False, True])
def test_some_finite_score_is_enough(guard, tree):
    body = "return math.inf if variable_features[18] > 0.49 else variable_features[18]"
    (status, *_), stats = tree(body, guard=guard)
    assert stats.calls > stats.undecided
    assert status == "optimal"


class Waiting(Weighted):
    """Waits as for another machine, which takes no CPU time."""

    def score(self, X):
        time.sleep(0.005)
        return super().score(X)


def test_what_a_scorer_waits_for_counts_under_a_guard():
    model = knapsack()
    stats = attach(model, Waiting(name="waiting", weights={"slack": 1.0}), guard=STRICT)
    model.optimize()
    assert stats.overtime == stats.fallbacks > 0
    assert stats.callback_s >= stats.rule_s >= 0.005 * stats.calls > 0


def test_with_scips_clocks_off_no_share_is_known(knapsacks):
    model = paper_model(knapsacks[0].path, node_limit=10)
    model.setParam("timing/enabled", False)
    stats = attach(model, rule_of(SLOW), guard=STRICT)
    model.optimize()
    assert (stats.overtime, stats.calls > 0) == (0, True)


def test_each_solve_of_a_model_has_a_share_of_its_own(knapsacks):
    model = paper_model(knapsacks[0].path)
    stats = attach(model, rule_of(SLOW), guard=STRICT)
    calls = []
    for _ in range(2):
        before = stats.calls
        model.optimize()
        calls.append(stats.calls - before)
        model.freeTransform()
    assert min(calls) > 0


def test_a_guard_that_has_nothing_to_do_changes_nothing(knapsacks):
    plain = solve(knapsacks[0].path, "paper_ca")
    guarded = solve(knapsacks[0].path, "paper_ca", guard=Guard(max_share=1.0))
    assert (guarded.nodes, guarded.lp_iterations) == (plain.nodes, plain.lp_iterations)
    assert guarded.fallbacks == 0


def test_a_solve_tells_what_the_guard_did(knapsacks):
    result = solve(knapsacks[0].path, rule_of(SLOW), guard=STRICT)
    assert result.overtime == result.fallbacks > 0
    assert SolveSettings.model_validate({"guard": True}) == SolveSettings(guard=Guard())
    assert SolveSettings.model_validate({"guard": False}) == SolveSettings()
