import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pyscipopt
import pytest

from bife_core import used
from bife_core.base.errors import RuleError
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.libscip import Model
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import foremost
from tests.support.programs import python

NO_CUTS, PRODUCT = {"separating/maxrounds": 0}, load_method("pseudocost_product")
LEAN = Configuration(name="lean", params=NO_CUTS, branching=PRODUCT)


@pytest.fixture
def fresh(knapsacks):
    """Return new models of one instance."""
    return lambda: read_model(knapsacks[0].path)


@pytest.fixture
def nodes(knapsacks):
    """Return how many nodes `solve` takes with a method."""
    return lambda method: solve(knapsacks[0].path, method).nodes


def optimized(model):
    model.optimize()
    return model.getNTotalNodes()


@pytest.mark.parametrize("reference", ["pseudocost_product", "pscost", LEAN])
def test_a_model_takes_the_nodes_of_solve_and_later_ones_those_of_scip(fresh, nodes, reference):
    before, plain = fresh(), nodes("relpscost")
    with used(reference) as uses:
        taken = optimized(before)
    assert taken == nodes(reference) == uses.nodes != plain
    assert (uses.solves, uses.models[0].status) == (1, "optimal")
    assert optimized(fresh()) == plain
    assert str(uses) == f"{load_method(reference).name}: 1 models, 1 solves, {taken} nodes, 0 fallbacks"


def test_every_way_to_optimize_a_model_attaches_once(fresh, nodes):
    class Own(pyscipopt.Model):
        def optimize(self):
            super().optimize()

    with used(LEAN) as uses:
        model = fresh()
        model.presolve()
        first = optimized(model)
        model.freeTransform()
        second = optimized(model)  # from the solutions of the first
        nogil = fresh()
        nogil.optimizeNogil()
        assert nogil.getNTotalNodes() == first == nodes(LEAN)
        subclass = Own("own")
        subclass.hideOutput()
        optimized(subclass)
        assert subclass.getParam("separating/maxrounds") == 0
    assert [use.solves for use in uses.models] == [2, 1, 1]
    assert uses.nodes == 2 * first + second + subclass.getNTotalNodes()
    assert uses.models[0].stats.calls > 0


def test_a_concurrent_solve_has_the_settings_and_a_warning_that_its_copies_lack_the_rule(fresh):
    model = fresh()
    model.setParam("parallel/maxnthreads", 2)
    with used(LEAN), pytest.warns(UserWarning, match="copy of this model branches without"):
        model.solveConcurrent()
    assert (model.getStatus(), model.getParam("separating/maxrounds")) == ("optimal", 0)


def test_the_innermost_context_counts_and_all_is_undone(fresh, nodes):
    names = ("optimize", "optimizeNogil", "solveConcurrent", "presolve")
    entries = {name: vars(Model)[name] for name in names}
    start = threading.Thread.start

    def failing():
        with used("pscost") as outer:
            with used("pseudocost_product") as inner:
                assert optimized(fresh()) == nodes("pseudocost_product")
            assert optimized(fresh()) == nodes("pscost")
            assert (inner.solves, outer.solves) == (1, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert {name: vars(Model)[name] for name in entries} == entries
    assert threading.Thread.start is start


def test_threads_of_a_context_attach_and_others_do_not(fresh, nodes):
    rules, barrier = ("pscost", "pseudocost_product"), threading.Barrier(3)

    def with_rule(rule):
        with used(rule) as uses, ThreadPoolExecutor(2) as pool:
            barrier.wait()
            taken = [*pool.map(optimized, [fresh(), fresh()])]
            barrier.wait()
        return taken, uses.nodes

    def without():
        barrier.wait()
        taken = optimized(fresh())
        barrier.wait()
        return taken

    with ThreadPoolExecutor(3) as pool:
        plain, *ruled = [pool.submit(without), *(pool.submit(with_rule, rule) for rule in rules)]
        assert plain.result() == nodes("relpscost")
        for rule, future in zip(rules, ruled, strict=True):
            assert future.result() == ([nodes(rule)] * 2, 2 * nodes(rule))


def test_a_thread_that_outlives_its_context_no_longer_attaches(fresh, nodes):
    ended, taken = threading.Event(), []
    with used("pscost"):
        thread = threading.Thread(target=lambda: ended.wait() and taken.append(optimized(fresh())))
        thread.start()
    ended.set()
    thread.join()
    assert taken == [nodes("relpscost")]


def test_what_is_set_and_rules_that_are_attached_stay_with_a_warning(fresh, nodes):
    model, ruled = fresh(), fresh()
    model.setParam("separating/maxrounds", 7)
    attach(ruled, "paper_ca")
    with used(LEAN) as uses:
        with pytest.warns(UserWarning, match=r"the model has set: separating/maxrounds = 7 \(not 0\)"):
            model.optimize()
        with pytest.warns(UserWarning, match="without lean. This model already has a BiFE rule attached"):
            assert optimized(ruled) == nodes("paper_ca")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ruled.freeTransform()
            ruled.optimize()
    assert [bool(use.without) for use in uses.models] == [False, True]
    assert "already has a BiFE rule" in str(uses)


def test_a_model_keeps_its_rule_in_the_next_context_without_a_warning(fresh, nodes):
    model, taken = fresh(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with used(LEAN) as uses:
                optimized(model)
                model.freeTransform()
            taken.append((uses.nodes, uses.models[0].without))
        with used("pscost"), pytest.raises(UserWarning, match="is solved without pscost"):
            model.optimize()
    assert taken[0] == (nodes(LEAN), "")
    assert (taken[1][0] > 1, taken[1][1]) == (True, "")
    plain = fresh()
    for rule in ("pscost", "mostinf", "pscost"):  # of SCIP's rules a model takes another
        with used(rule) as uses:
            plain.presolve()
            assert foremost(plain.getParams()) == rule
            plain.freeTransform()


def test_solves_by_bife_branch_as_they_are_told(nodes):
    expected = [nodes(method) for method in ("relpscost", "paper_ca")]
    with used("pseudocost_product") as uses:
        assert [nodes(method) for method in ("relpscost", "paper_ca")] == expected
    assert uses.solves == 0


def test_a_reference_that_is_none_fails_before_any_solve():
    with pytest.raises(RuleError, match="There is no rule"), used("nonsuch"):
        pass
    assert type(vars(Model)["optimize"]).__name__ != "function"


def test_attach_takes_subclasses_whatever_the_name_of_the_class_points_to_at_first():
    code = """
import pyscipopt
Real = pyscipopt.Model
class Replaced(Real):
    pass
pyscipopt.Model = pyscipopt.scip.Model = Replaced
from bife_core import attach
for model in (Real(), Replaced(), type("Other", (Real,), {})()):
    attach(model, "pscost")
    assert model.getParam("branching/pscost/priority") > model.getParam("branching/relpscost/priority")
    pyscipopt.Model = pyscipopt.scip.Model = None
"""
    run = python("-c", code)
    assert (run.returncode, run.stderr) == (0, "")
