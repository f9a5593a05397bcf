"""The incumbents of a timed solve, and the costs that are relative to the best objective known."""

import pyscipopt
import pytest

from bife_core import solve
from bife_core.base.stats import geometric_mean
from bife_core.solver.scip.solve import RootClock, best_known, optimize
from tests.support.measured import result


def found(*incumbents, **known):
    bound = incumbents[-1][1] if incumbents else None
    facts = {"status": "timelimit", "cpu_s": 10.0, "primal_bound": bound, "dual_bound": None}
    return result(incumbents=incumbents, **facts | known)


def test_a_timed_solve_records_each_better_solution_and_when_it_was_found(knapsacks):
    plain, timed = solve(knapsacks[1].path), solve(knapsacks[1].path, timed=True)
    assert (plain.incumbents, plain.nodes) == (None, timed.nodes)
    seconds, objectives = zip(*timed.incumbents, strict=True)
    assert list(seconds) == sorted(seconds)
    assert seconds[0] >= 0.0
    assert seconds[-1] <= timed.cpu_s
    assert timed.maximise is True
    assert list(objectives) == sorted(objectives)
    assert objectives[-1] == pytest.approx(timed.primal_bound)


@pytest.mark.parametrize(
    ("sense", "x_y", "optimum"), [("minimize", (3, 0), 1009), ("maximize", (8, 1), 1028)]
)
def test_a_solution_that_the_user_gives_is_there_from_the_start(sense, x_y, optimum):
    model = pyscipopt.Model()
    x, y = (model.addVar(name, "I", lb=0, ub=9) for name in "xy")
    model.addCons(2 * x + 3 * y <= 19)
    model.addCons(x + y >= 3)
    model.setObjective(3 * x + 4 * y + 1000, sense)
    given = model.createSol()
    for variable, value in zip((x, y), x_y, strict=True):
        model.setSolVal(given, variable, value)
    assert model.addSol(given)
    model.hideOutput()
    with RootClock.over(model) as clock:
        optimize(model, "trying")
        ((second, objective),) = clock.incumbents
    assert objective == pytest.approx(optimum)
    assert second < 0.01


def test_the_integral_is_bertholds_and_goes_on_to_the_limit_without_a_proof():
    slow = found((2.0, 40.0), (6.0, 20.0))
    assert slow.cost("primal_integral", 10.0, 60.0) == pytest.approx(2.0 + 4 * 0.75 + 54 * 0.5)
    assert slow.cost("primal_integral", None, 60.0) == pytest.approx(2.0 + 4 * 0.5), "its own is the best"
    assert slow.cost("primal_integral", 50.0, 60.0) == 2.0, "what is better than the best known has no gap"
    proven = slow.model_copy(update={"status": "optimal", "cpu_s": 8.0})
    assert proven.cost("primal_integral", 20.0, 60.0) == pytest.approx(4.0)
    assert found().cost("primal_integral", 10.0, 60.0) == 60.0, "a minute without a solution"
    assert found(status="infeasible", cpu_s=3.0).cost("primal_integral", None, 60.0) == 3.0
    late = found((2.0, 10.0), (61.0, 5.0))
    assert late.cost("primal_integral", 5.0, 60.0) == pytest.approx(2.0 + 58 * 0.5), "the limit is the limit"


@pytest.mark.parametrize(
    ("objective", "best", "maximise", "cost"),
    [
        (30.0, 7.5, False, 4.0),
        (7.5, 30.0, True, 4.0),
        (-10.0, -30.0, False, 3.0),
        (7.5, 7.5, False, 1.0),
        (5.0, -5.0, False, 10.0),
        (1.0, 0.0, False, 10.0),
        (500.0, 1.0, False, 10.0),
    ],
)
def test_an_objective_costs_how_many_times_the_best_it_is(objective, best, maximise, cost):
    assert found((1.0, objective), maximise=maximise).cost("objective", best) == pytest.approx(cost)


def test_ratios_of_the_cost_are_ratios_of_objectives():
    ours, theirs = ([found((1.0, value)) for value in some] for some in ((8.0, 12.0), (32.0, 30.0)))
    pairs = zip(ours, theirs, (8.0, 10.0), strict=True)
    ratios = [one.cost("objective", best) / other.cost("objective", best) for one, other, best in pairs]
    assert geometric_mean(ratios) == pytest.approx((8 / 32 * 12 / 30) ** 0.5)
    assert found().cost("objective", 8.0) == 10.0, "no solution"
    assert found(status="infeasible").cost("objective") == 1.0, "a proof is a proof"


def test_the_best_known_is_of_all_solves_but_those_that_miss_a_row():
    solves = [
        *(found((1.0, value), digest="a") for value in (5.0, 4.0)),
        found((1.0, 3.0), digest="a", violation="r by 1"),
        *(found((1.0, value), digest="b", maximise=True) for value in (5.0, 7.0)),
        found(digest="c"),
        None,
    ]
    assert best_known(solves) == {"a": 4.0, "b": 7.0}
    assert best_known(solves, {"a": 2.0, "b": 6.0, "d": 1.0}) == {"a": 2.0, "b": 7.0, "d": 1.0}
