"""Certified inequalities: what is true is proven, what is false, ill-scaled or beyond the rows named is not."""

import itertools

import numpy as np
import pyscipopt
import pytest

from bench.inequalities import writer_of
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.solver.inequalities.certificates import Inequality, certified
from bife_core.solver.inequalities.knapsacks import facet
from bife_core.solver.inequalities.rounds import written_for
from bife_core.solver.scip.reader import read_model
from bife_core.solver.starts.problem import problem_of


@pytest.fixture(scope="module")
def problem():
    """3 a + 4 b + 5 c <= 8 of binaries; z <= 100 a; w free above; a + b >= 3, which is infeasible; 0 <= t <= 0."""
    model = pyscipopt.Model()
    model.hideOutput()
    a, b, c = (model.addVar(name, "B") for name in "abc")
    z, w, t = model.addVar("z", ub=1e6), model.addVar("w"), model.addVar("t", ub=0.0)
    model.addCons(3 * a + 4 * b + 5 * c <= 8)
    model.addCons(z - 100 * a <= 0)
    model.addCons(w - z >= 0)
    model.addCons(a + b >= 3)
    model.addCons(t + a <= 1)
    return problem_of(model, 0, 10.0)


def stated(columns, coefficients, rhs, *rows):
    return Inequality(np.array(columns), np.array(coefficients, dtype=float), rhs, rows)


def outcome(problem, inequality, nodes=1000):
    proven, outcomes = certified(problem, [inequality], nodes)
    ((word, count),) = outcomes.items()
    assert (count, len(proven)) == (1, word == "proven")
    return word


@pytest.mark.parametrize(
    ("inequality", "word"),
    [
        (stated([1, 2], [1, 1], 1.0, 0), "proven"),
        (stated([1, 2], [2, 2], 2.0, 0), "proven"),
        (stated([0, 2], [1, 1], 1.0, 0), "false"),
        (stated([1, 2], [1, 1], 0.98, 0), "false"),
        (stated([1, 2], [1, 1], 1.0), "false"),  # of no row: of the bounds alone
        (stated([1, 2], [1, 1], 1.0, 1), "false"),  # of another row
        (stated([0, 1, 2], [1, 1, 1], 2.0, 0), "proven"),
        (stated([3, 0], [1, -100], 0.0, 1), "proven"),
        (stated([3, 0], [1, -99.99], 0.0, 1), "false"),
        (stated([4], [1], 1e9, 2), "unbounded"),
        (stated([3, 4], [1, -1], 0.0, 2), "proven"),
        (stated([0], [1], 0.0, 3), "infeasible"),
        (stated([0], [np.nan], 1.0), "malformed"),
        (stated([0], [1], np.nan), "malformed"),
        (stated([0], [1], np.inf), "malformed"),
        (stated([0, 0], [1, 1], 1.0), "malformed"),
        (stated([0, 1], [1], 1.0), "malformed"),
        (stated([0], [0], 0.0), "malformed"),
        (stated([], [], 0.0), "malformed"),
        (stated([6], [1], 1.0), "malformed"),
        (stated([-1], [1], 1.0), "malformed"),
        (stated([0], [1], 1.0, 5), "malformed"),
    ],
)
def test_what_follows_from_the_rows_named_is_proven_and_nothing_else(problem, inequality, word):
    assert outcome(problem, inequality) == word


@pytest.mark.parametrize(("rhs", "word"), [(8.0, "false"), (15.6, "false"), (15.7, "proven")])
def test_no_optimum_that_presolving_loses_proves_anything(rhs, word):
    model = pyscipopt.Model()
    b, c = model.addVar("b", "B"), model.addVar("c", ub=10)
    x, y, z = (
        model.addVar(name, "I", low, high)
        for name, low, high in (("x", -20, 20), ("y", -20, 10), ("z", 0, 10))
    )
    model.addCons(5 * x - 2 * y + 3 * c == -95)
    model.addCons(5 * b - 2 * y + 2 * z == 3)
    model.addCons(-3 * x + 5 * y + 2 * c <= 86)
    model.addCons(7.68 * b + 2.8 * x + c <= -42)
    places = {variable.name: place for place, variable in enumerate(model.getVars())}
    claim = stated([places[name] for name in "xyc"], [1, 8, 1], rhs, 0, 1, 2, 3)
    assert outcome(problem_of(model, 0, 60.0), claim) == word


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0, 1e6, 1e12])
def test_the_scale_of_an_inequality_changes_nothing(problem, scale):
    assert outcome(problem, stated([0], [scale], 0.5 * scale)) == "false"
    assert outcome(problem, stated([0], [scale], scale)) == "proven"


def test_a_small_coefficient_beside_a_large_one_of_nothing_is_not_hidden_by_the_tolerance(problem):
    # t is 0, so that this says a <= 0.5; SCIP would drop the coefficient where it is below 1e-9.
    assert outcome(problem, stated([5, 0], [1.0, 1e-10], 0.5e-10)) == "malformed"
    proven, _ = certified(problem, [stated([5, 0], [1.0, 9e-6], 9e-6 - 0.9e-6)])
    assert all(one.coefficients @ [0.0, 1.0] <= one.rhs for one in proven)


def test_the_side_that_is_used_is_the_one_that_is_proven(problem):
    (used,), _ = certified(problem, [stated([1, 2], [1, 1], 1.0 - 0.9e-6, 0)])
    assert 1.0 <= used.rhs <= 1.0 + 3e-6


def test_a_proof_that_needs_more_nodes_is_none(problem):
    generator = np.random.default_rng(3)
    model = pyscipopt.Model()
    model.hideOutput()
    items = [model.addVar(f"x{k}", "B") for k in range(40)]
    for _ in range(6):
        weights = generator.integers(20, 100, 40)
        model.addCons(pyscipopt.quicksum(int(w) * x for w, x in zip(weights, items, strict=True)) <= 1000)
    hard = problem_of(model, 0, 10.0)
    values = generator.integers(20, 100, 40)
    model.setObjective(pyscipopt.quicksum(int(v) * x for v, x in zip(values, items, strict=True)), "maximize")
    model.optimize()
    assert model.getNTotalNodes() > 1
    best = stated(range(40), values, model.getObjVal(), *range(6))
    assert outcome(hard, best, nodes=1) == "undecided"
    assert outcome(hard, best, nodes=10_000) == "proven"


def test_outcomes_are_counted_and_each_keeps_its_own_side(problem):
    many = [stated([0, 1], [1, 1], 2.0, 0), stated([1, 2], [1, 1], 1.0, 0), stated([2], [1], 0.5, 0)]
    proven, outcomes = certified(problem, [*many, stated([0], [np.nan], 1.0)])
    assert outcomes == {"proven": 2, "false": 1, "malformed": 1}
    assert [round(one.rhs, 4) for one in proven] == [2.0, 1.0]


def test_facets_of_a_knapsack_are_valid_and_cut_off_the_point():
    generator, found = np.random.default_rng(1), 0
    for _ in range(40):
        weights, values = generator.integers(5, 40, 10), generator.random(10)
        capacity = int(weights.sum() // 2)
        order, x, room = np.argsort(-values / weights), np.zeros(10), capacity
        for item in order:  # the LP's optimum
            x[item] = min(1.0, room / weights[item])
            room -= x[item] * weights[item]
        if cut := facet(weights, capacity, x):
            terms, side = cut
            points = (np.array(point) for point in itertools.product((0, 1), repeat=10))
            packings = [point for point in points if point @ weights <= capacity]
            assert max(terms @ point for point in packings) <= side + 1e-6
            assert terms @ x > side + 1e-5
            found += 1
    assert found > 20


@pytest.mark.parametrize(
    "family", ["generalised_assignment", "lot_sizing", "facility_location", "network_design"]
)
def test_all_that_is_written_for_a_family_is_proven_and_keeps_the_optimum(family, tmp_path):
    model = read_model(GeneratedBenchmark(FAMILIES[family], "tiny", 0, tmp_path).instance("test", 0).path)
    problem = problem_of(model, 0, 10.0)
    inequalities, before, after = written_for(problem, writer_of(family, problem))
    proven, outcomes = certified(problem, inequalities)
    assert outcomes == {"proven": len(inequalities)}
    assert after > before
    model.hideOutput()
    model.optimize()
    best = np.array([model.getVal(variable) for variable in model.getVars()])
    assert after <= problem.objective @ best + 1e-4
    assert all(one.coefficients @ best[one.columns] <= one.rhs + 1e-6 for one in proven)
