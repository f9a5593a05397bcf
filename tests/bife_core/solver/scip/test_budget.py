"""RPB's budget: it branches while its strong branching takes no more than a share of the LP iterations."""

from __future__ import annotations

import json

import pytest

from bench.export import compiler
from bife_core import Budget, attach, load_method, load_rule, solve
from bife_core.base.errors import RuleError
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import cost_of
from bife_core.solver.export import export_c
from bife_core.solver.methods.references import method_of
from bife_core.solver.methods.scorer import Scorer
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import HIGHEST_PRIORITY
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.bife_core.solver.scip.test_branching import paper_model
from tests.support.exported import branchings, exported


class Slow(Scorer):
    """The product of pseudocosts, by way of Python."""

    kind: str = "slow"

    def score(self, X):
        return load_rule("pseudocost_product").score(X)


def counts(result):
    return result.nodes, result.lp_iterations, result.calls, result.within_budget


def test_rpb_within_a_budget_it_never_uses_up_solves_as_without_a_rule(knapsacks):
    path = knapsacks[0].path
    methods = ("relpscost", "paper_ca,budget=0.9999")
    alone, budgeted = (solve(path, method, timed=True) for method in methods)
    assert (budgeted.nodes, budgeted.lp_iterations) == (alone.nodes, alone.lp_iterations)
    assert (budgeted.calls, budgeted.fallbacks) == (0, 0)
    assert budgeted.within_budget > 0
    assert budgeted.branching_s == pytest.approx(alone.branching_s, abs=0.2)


def test_the_rule_branches_beyond_the_budget_and_rpb_returns_unless_told_not_to(knapsacks):
    path = knapsacks[1].path
    returning, once = (solve(path, f"paper_ca,budget=0.5{more}") for more in ("", ",once"))
    assert returning.within_budget > once.within_budget
    assert once.calls > 0
    assert counts(once) == counts(solve(path, "paper_ca,budget=0.5,once"))
    again = paper_model(path)
    stats = attach(again, "paper_ca", budget=Budget(share=0.8, returns=False))
    for _ in range(2):  # the second solve of a model has a budget of its own
        before = stats.within_budget
        again.optimize()
        assert stats.within_budget > before
        again.freeTransform()


def test_rpb_does_not_begin_before_its_first_node_fits_into_the_budget(knapsacks):
    path = knapsacks[1].path
    alone, budgeted = solve(path, "paper_ca"), solve(path, "paper_ca,budget=0.01")
    assert counts(budgeted) == counts(alone)
    assert solve(path, "paper_ca,budget=0.5").within_budget > 0


@pytest.mark.parametrize("method", ["relpscost", "vanillafullstrong", "paper_ca,budget=0.8", "paper_ca"])
def test_lp_iterations_are_those_of_strong_branching_too(method, knapsacks, tmp_path):
    path, table = knapsacks[1].path, tmp_path / "statistics"
    model = read_model(path)
    apply(SolveSettings(), model)
    attach(model, method)
    model.optimize()
    model.writeStatistics(table)
    lines = (line.partition(":") for line in table.read_text().splitlines())
    rows = {name.strip(): values.split() for name, _, values in lines}
    kinds = ("primal LP", "dual LP", "diving/probing LP", "strong branching")
    total, strong = sum(int(rows[kind][2]) for kind in kinds), int(rows["strong branching"][2])
    result = solve(path, method)
    assert (result.lp_iterations, result.strong_branching_iterations) == (total, strong)
    assert (strong > 0) == (method != "paper_ca")
    assert cost_of(result, HighFidelityConfig(cost="lp_iterations")) == total


def test_a_scorer_in_python_branches_as_the_native_rule_does(knapsacks):
    path, budget = knapsacks[0].path, Budget(share=0.5)
    native = solve(path, "pseudocost_product,budget=0.5")
    assert counts(solve(path, Slow(name="slow", budget=budget))) == counts(native)
    assert min(native.calls, native.within_budget) > 0


@pytest.mark.skipif(not compiler(), reason="there is no C compiler here")
@pytest.mark.parametrize("budget", ["0.6", "0.6,once"])
def test_the_exported_rule_branches_alike(budget, knapsacks, tmp_path):
    reference = f"paper_ca,budget={budget}"
    native = branchings(knapsacks[0].path, lambda model: attach(model, reference))
    assert branchings(knapsacks[0].path, exported(reference, tmp_path)) == native
    assert native != branchings(knapsacks[0].path, lambda model: attach(model, "paper_ca"))


def test_nodes_are_counted_once_however_often_rpb_tightens_bounds_at_them(knapsacks):
    for instance in knapsacks:
        result = solve(instance.path, "paper_ca,budget=0.6")
        assert 0 < result.within_budget + result.calls <= result.nodes


@pytest.mark.parametrize("method", ["paper_ca", "paper_ca,budget=0.6", "pscost"])
def test_a_method_branches_whatever_priorities_the_settings_give(method, knapsacks):
    params = {f"branching/{name}/priority": HIGHEST_PRIORITY for name in ("relpscost", "mostinf")}
    plain, raised = (solve(knapsacks[0].path, method, params=more) for more in ({}, params))
    assert counts(raised) == counts(plain)


def test_a_budget_is_part_of_what_a_method_is():
    plain, budgeted = load_method("paper_ca"), load_method("paper_ca,budget=0.4,once")
    assert budgeted.budget == Budget(share=0.4, returns=False)
    assert budgeted.name == "paper_ca,budget=0.4,once"
    assert len({plain.identity, budgeted.identity, load_method("paper_ca,budget=0.4").identity}) == 3
    back = method_of(budgeted.text)
    assert back == budgeted
    assert (budgeted.file_name, json.loads(budgeted.text)["budget"]["share"]) == ("method.json", 0.4)


@pytest.mark.parametrize("budget", ["1.5", "0", "much", "0.5,twice", ""])
def test_a_budget_that_is_none_is_refused_in_a_sentence(budget):
    with pytest.raises(RuleError, match=r"share between 0 and 1, such as 0\.7 or 0\.7,once; found"):
        load_method(f"paper_ca,budget={budget}")


def test_what_scores_nothing_takes_no_budget_and_none_is_lost():
    for load, reference, message in (
        (load_method, "relpscost,budget=0.5", "relpscost takes no budget"),
        (load_rule, "paper_ca,budget=0.5", "load_method keeps it"),
        (export_c, "relpscost", "relpscost is no rule"),
    ):
        with pytest.raises(RuleError, match=message):
            load(reference)
