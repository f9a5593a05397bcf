"""Models that are awkward to branch on: same optimum as without a rule, and each fault counted as whose it is."""

import math
import signal
import sys
import threading
import time
from contextlib import suppress

import pyscipopt
import pytest

from bife_core import attach, solve
from bife_core.base.errors import SolverError
from bife_core.solver.scip.extractor import FeatureExtractor
from bife_core.solver.scip.libscip import _hooks, scip_errors
from bife_core.solver.scip.solve import SolveResult, SolveSettings, apply, optimize
from tests.support import awkward

RULE = "paper_mis"  # it reads pseudocosts, coefficients and rows

OPEN_LP = "Maximize\n obj: x + y\nSubject To\n c: x - y <= 1\nGenerals\n x y\nEnd\n"


def branching_by(rule):
    """Return a model in which a rule in Python branches first."""
    model = next(iter(awkward.FEASIBLE.values()))()
    model.hideOutput()
    model.includeBranchrule(rule, "first", "", priority=10**7, maxdepth=-1, maxbounddist=1.0)
    return model


def solved(model):
    apply(SolveSettings(time_limit_s=60), model)
    model.optimize()
    return model.getStatus(), model.getObjVal() if model.getNSols() else None


@pytest.mark.parametrize("name", awkward.FEASIBLE)
def test_awkward_models_have_the_optimum_they_have_without_a_rule(name):
    make = awkward.FEASIBLE[name]
    expected = solved(make())
    model = make()
    stats = attach(model, RULE)
    status, objective = solved(model)
    assert (status, expected[0]) == ("optimal", "optimal")
    assert objective == pytest.approx(expected[1], rel=1e-6)
    assert stats.calls > 0
    assert stats.fallbacks == 0


@pytest.mark.parametrize("name", awkward.UNASKED)
def test_models_on_which_no_rule_is_asked_end_as_they_do_without_one(name):
    make, status = awkward.UNASKED[name]
    alone, model = make(), make()
    stats = attach(model, RULE)
    expected = solved(alone)
    assert expected[0] == status
    assert solved(model) == expected
    assert model.getNTotalNodes() == alone.getNTotalNodes()
    assert (stats.calls, stats.fallbacks) == (0, 0)


@pytest.mark.parametrize("guard", [False, True])
def test_an_infeasible_model_is_proven_infeasible_by_branching(guard):
    model = awkward.infeasible()
    stats = attach(model, RULE, guard=guard)
    assert solved(model) == ("infeasible", None)
    assert stats.calls > 10


class AtPseudoSolutions(pyscipopt.Branchrule):
    """Asks for features where there is no LP."""

    def __init__(self):
        self.refusals = []

    def branchexecps(self, allowaddcons):
        try:
            FeatureExtractor(self.model).extract()
        except SolverError as error:
            self.refusals.append(str(error))
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}


def test_there_are_no_features_without_an_lp(capfd):
    model = awkward.no_lp()
    rule = AtPseudoSolutions()
    model.includeBranchrule(rule, "pseudo", "", 20_000_000, -1, 1.0)
    assert solved(model)[0] == "optimal"
    assert {*rule.refusals} == {"The node has no LP solved to optimality, so there is nothing to branch on."}
    assert capfd.readouterr().err == ""


def test_an_error_code_of_scip_ends_the_solve_but_neither_process_nor_counters(knapsacks, tmp_path):
    model = awkward.knapsacks()
    stats = attach(model, RULE)
    model.setParam("visual/vbcfilename", str(tmp_path / "no" / "such" / "tree.vbc"))
    with pytest.raises(Exception, match="file"):
        model.optimize()
    assert (stats.calls, stats.fallbacks) == (0, 0)
    with pytest.raises(SolverError, match=r"failed while solving .* under relpscost: error creating file <"):
        solve(knapsacks[0].path, params={"visual/vbcfilename": str(tmp_path / "no" / "tree.vbc")})
    assert solve(knapsacks[0].path, RULE).status == "optimal"


def test_out_of_memory_is_an_end_like_a_limit(knapsacks, capfd):
    for method in ("relpscost", RULE):
        result = solve(knapsacks[0].path, method, params={"limits/memory": 1})
        assert result.status == "memlimit"
        assert not result.finished
        assert (result.gap, result.primal_bound, result.calls) == (1.0, None, 0)
        assert capfd.readouterr() == ("", ""), "SCIP is not asked what it cannot say while it presolves"
        assert SolveResult.model_validate_json(result.model_dump_json()) == result


class Raising(pyscipopt.Branchrule):
    def branchexeclp(self, allowaddcons):
        raise ValueError("no")

    branchexecps = branchexeclp


def test_ctrl_c_is_heard_after_a_solve_that_failed(capfd):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SolverError, match=r"while failing: a callback raised ValueError\('no'\)") as caught:
        optimize(branching_by(Raising()), "failing")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


class Pressed(pyscipopt.Branchrule):
    def branchexeclp(self, allowaddcons):
        raise KeyboardInterrupt

    branchexecps = branchexeclp


def test_ctrl_c_in_a_callback_is_no_error_of_scip(capfd):
    with pytest.raises(KeyboardInterrupt):
        optimize(branching_by(Pressed()), "waiting")


def test_errors_are_kept_by_the_innermost_that_asks(capfd):
    model = pyscipopt.Model()
    model.hideOutput()
    with scip_errors() as outer:
        for problem in ("first", "second"):
            with pytest.raises(SolverError, match=f"{problem}: "), scip_errors(problem):
                model.setParam("limits/time", -1.0)
        with suppress(Exception):
            model.setParam("limits/gap", -1.0)
    assert capfd.readouterr().err == ""
    assert any("limits/gap" in message for message in outer)
    assert not any("limits/time" in message for message in outer)


def test_threads_leave_the_hook_for_exceptions_as_it_was(capfd):
    causes, failed, hook = [], threading.Event(), sys.unraisablehook

    def fail():
        model = branching_by(Raising())
        with scip_errors():
            failed.wait(20)
            with pytest.raises(SolverError) as caught:
                optimize(model, "failing")
        causes.append(caught.value.__cause__)

    later = threading.Thread(target=fail)
    with scip_errors():
        later.start()
        while len(_hooks) < 2:
            time.sleep(0.01)
    failed.set()
    later.join(20)
    assert isinstance(causes[0], ValueError)
    assert sys.unraisablehook is hook


def test_results_of_unbounded_models_hold_no_infinite_number(tmp_path):
    path = tmp_path / "open.lp"
    path.write_text(OPEN_LP)
    result = solve(path, RULE)
    assert (result.status, result.finished) == ("unbounded", True)
    assert (result.primal_bound, result.dual_bound, result.gap) == (None, None, 0.0)
    costs = [result.cost(kind) for kind in ("time", "nodes", "lp_iterations", "gap", "primal_dual_integral")]
    assert all(math.isfinite(cost) for cost in costs)
    assert SolveResult.model_validate_json(result.model_dump_json()) == result
