"""A rule in charge of a model: it decides, and falls back where it must."""

import gc
import math
import warnings
import weakref
from pathlib import Path

import numpy as np
import pyscipopt
import pytest

from bife_core.base.errors import RuleError, SolverError
from bife_core.solver.methods.attach import attach
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_rule
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.compiled.choices import best_candidate
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.support.marks import long_but
from tests.support.weighted import Weighted

METHODS_HERE = {"rule": "pseudocost_product", "python scorer": Weighted(name="slack", weights={"slack": 1.0})}


def knapsack(n=20):
    """A model that takes some branching, and milliseconds."""
    rng, model = np.random.default_rng(0), bare()
    x = [model.addVar(vtype="B", obj=-float(profit)) for profit in rng.integers(10, 100, n)]
    for weights in rng.integers(10, 100, (10, n)).tolist():
        load = pyscipopt.quicksum(weight * var for weight, var in zip(weights, x, strict=True))
        model.addCons(load <= sum(weights) / 3)
    return model


def bare():
    """An empty model that SCIP solves by branching alone."""
    model = pyscipopt.Model()
    model.hideOutput()
    for switch_off in (model.setPresolve, model.setSeparating, model.setHeuristics):
        switch_off(pyscipopt.SCIP_PARAMSETTING.OFF)
    return model


HEADER = "import math\ndef candidate_variable_score(variable_features) -> float:\n    "


def rule_of(body):
    return RuleMethod(name="rule", source=HEADER + body).compiled


def paper_model(path, node_limit=None):
    model = read_model(path)
    apply(SolveSettings(node_limit=node_limit), model)
    return model


def test_counters_tell_what_the_rule_did(knapsacks):
    model = paper_model(knapsacks[0].path)
    stats = attach(model, load_rule("pseudocost_product"))
    assert (stats.calls, stats.candidates) == (0, 0)
    model.optimize()
    assert stats.calls > 0
    assert stats.candidates >= 2 * stats.calls
    assert 0 < stats.feature_s + stats.rule_s <= stats.callback_s
    assert (stats.undecided, stats.rule_errors) == (0, 0)


@pytest.mark.parametrize("body", long_but(["return math.nan", "return -math.inf"], ["return math.nan"]))
def test_a_rule_without_a_usable_score_hands_over_to_scip(body, knapsacks):
    alone = paper_model(knapsacks[0].path)
    alone.optimize()
    model = paper_model(knapsacks[0].path)
    stats = attach(model, rule_of(body))
    model.optimize()
    assert stats.undecided == stats.calls > 0
    assert model.getNTotalNodes() == alone.getNTotalNodes()
    assert model.getObjVal() == pytest.approx(alone.getObjVal())


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([1.0, 3.0, 3.0], 1),
        ([math.nan, 1.0, math.nan, 2.0], 3),
        ([2.0, math.nan], 0),
        ([math.inf, 1.0, math.inf], 0),
        ([-math.inf, -1e300], 1),
        ([-math.inf, math.nan], -1),
        ([], -1),
    ],
)
def test_the_first_largest_number_wins(scores, chosen):
    assert best_candidate(np.array(scores)) == chosen


def test_branching_priorities_of_the_user_come_first():
    """x and y are both fractional; the rule prefers y, the model says x."""
    seen = []
    for x_priority in (0, 1):
        model = bare()
        x, y = (model.addVar(name, vtype="I", ub=10) for name in "xy")
        model.addCons(7 * x + 5 * y <= 33.3)
        model.addCons(3 * x + 8 * y <= 25.7)
        model.setObjective(5 * x + 7.1 * y, "maximize")
        model.chgVarBranchPriority(x, x_priority)
        attach(model, rule_of("return variable_features[0] * -1.0"))
        branched = set()

        class Watch(pyscipopt.Eventhdlr):
            def eventinit(self):
                self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEFOCUSED, self)

            def eventexec(self, event, names=branched):
                node = event.getNode()
                if node.getDepth() == 1:
                    names.update(v.name for v in node.getParentBranchings()[0])

        model.includeEventhdlr(Watch(), "watch", "")
        model.optimize()
        seen.append(branched)
    assert seen == [{"t_y"}, {"t_x"}]


def test_a_second_rule_on_a_model_is_refused():
    model = pyscipopt.Model()
    with pytest.raises(RuleError, match="17 is no method"):
        attach(model, 17)
    attach(model, load_rule("pseudocost_product"))  # nothing was done to the model before
    for another in (load_rule("pseudocost_min"), "pscost"):
        with pytest.raises(SolverError, match="already has a BiFE rule"):
            attach(model, another)


@pytest.mark.parametrize("more", [{"implied_free": "all"}, {"inequalities": "knapsack"}])
def test_a_second_method_on_a_model_with_more_than_settings_is_refused_before_it_changes_any(more):
    attach(model := knapsack(), Configuration(branching=ScipMethod(name="mostinf"), **more))
    before = model.getParams()
    for another in ("pscost", load_rule("pseudocost_min"), Configuration(params={"lp/pricing": "d"}, **more)):
        with pytest.raises(SolverError, match="already has a configuration of BiFE"):
            attach(model, another)
    assert model.getParams() == before
    model.optimize()
    assert model.getStatus() == "optimal"


def test_of_methods_of_scip_the_last_counts_and_a_rule_after_them():
    model, alone = knapsack(), knapsack()
    attach(model, "mostinf")
    for solved in (model, alone):
        attach(solved, "pscost")
        solved.optimize()
    assert model.getNTotalNodes() == alone.getNTotalNodes()
    model.freeTransform()
    stats = attach(model, "pseudocost_product")
    model.optimize()
    assert stats.calls > 0


def test_a_model_that_was_solved_takes_a_rule_once_it_is_freed(knapsacks):
    model = paper_model(knapsacks[0].path, node_limit=2)
    model.optimize()
    with pytest.raises(SolverError, match=r"attach before optimize, or after freeTransform\(\)"):
        attach(model, "pseudocost_product")
    model.freeTransform()
    stats = attach(model, "pseudocost_product")
    model.optimize()
    assert stats.calls > 0


@pytest.mark.parametrize("name", ["rule", "python scorer"])
def test_a_row_may_be_added_between_two_solves_and_a_third_be_cut_short_and_gone_on_with(name):
    model, fresh = knapsack(), knapsack()
    stats = attach(model, METHODS_HERE[name], guard=True, budget=0.3)
    model.optimize()
    for solved in (model, fresh):
        solved.freeTransform()
        solved.addCons(pyscipopt.quicksum(solved.getVars()[:8]) <= 1)
        solved.optimize()
    assert model.getObjVal() == pytest.approx(fresh.getObjVal())
    twice = stats.calls
    model.freeTransform()
    assert stats.calls == twice > 0
    for nodes, status in ((2, "nodelimit"), (-1, "optimal")):
        model.setParam("limits/nodes", nodes)
        model.optimize()
        assert model.getStatus() == status
    assert model.getObjVal() == pytest.approx(fresh.getObjVal())
    assert stats.calls > twice


class Interrupted(Weighted):
    """Meets Ctrl-C at its first branching."""

    def score(self, X):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return super().score(X)


pressed = []


def test_ctrl_c_in_a_scorer_stops_the_solve_which_goes_on_when_asked():
    model, alone = knapsack(), knapsack()
    stats = attach(model, Interrupted(name="interrupted", weights={"slack": 1.0}))
    model.optimize()
    assert (model.getStatus(), stats.calls) == ("userinterrupt", 0)
    for solved in (model, alone):
        solved.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(alone.getObjVal())
    assert stats.calls > 0


@pytest.mark.parametrize("name", ["rule", "python scorer"])
def test_models_and_what_was_attached_are_freed_at_once(name):
    gc.collect()
    gc.disable()
    try:
        models = []
        for _ in range(5):
            model = knapsack(8)
            stats = attach(model, METHODS_HERE[name], guard=True)
            model.optimize()
            models.append(weakref.ref(model))
            calls = stats.calls
            del model
            assert stats.calls == calls
        assert [one() for one in models] == [None] * 5
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["rule", "python scorer"])
def test_a_copy_of_a_model_lacks_the_rule_and_says_so(name):
    model = knapsack()
    stats = attach(model, METHODS_HERE[name])
    message = "branches without (pseudocost_product|slack), and solveConcurrent solves copies"
    with pytest.warns(UserWarning, match=message) as caught:
        copy = pyscipopt.Model(sourceModel=model)
    assert Path(caught[0].filename) == Path(__file__)
    copy.hideOutput()
    own = attach(copy, METHODS_HERE[name])
    copy.optimize()
    assert own.calls > 0
    del copy
    # Last, for SCIP 10.0 solves no copy any more afterwards, and crashes where two such models are freed.
    with pytest.warns(UserWarning, match=message):
        model.solveConcurrent()
    assert stats.calls == 0


def test_heuristics_copy_a_model_without_a_word():
    model = knapsack()
    stats = attach(model, "pseudocost_product")
    model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.AGGRESSIVE)
    model.setParam("limits/nodes", 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.optimize()
    assert stats.calls > 0
