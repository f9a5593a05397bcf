"""Starts of BiFE's own: what they propose is good and the same every time, and the solve is charged for it."""

import json
import re
import time
import warnings
from dataclasses import replace

import numpy as np
import pyscipopt
import pytest
from pydantic import ValidationError

from bife_core import attach, load_method, solve
from bife_core.base.errors import RuleError
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.solver.methods.attach import give
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import beside_branching, method_of
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.row_classes import Rows
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.starts import family, local_search, restricted
from bife_core.solver.starts.method import STARTS, StartMethod, give_starts
from bife_core.solver.starts.problem import new_model, problem_of
from tests.support.instances import locations


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    return lambda name: GeneratedBenchmark(FAMILIES[name], "tiny", 0, folder).instance("test", 1).path


def lot_sizing(periods=4):
    """Produce in few periods, or keep in stock: the stock follows from what is produced by equations alone."""
    model, demand = pyscipopt.Model(), [4, 1, 3, 2]
    model.hideOutput()
    set_up = [model.addVar(f"y{t}", "B", obj=5) for t in range(periods)]
    batch = [model.addVar(f"b{t}", "B", obj=1) for t in range(periods)]
    stock = [model.addVar(f"s{t}", obj=1) for t in range(periods)]
    for t in range(periods):
        before = stock[t - 1] if t else 0
        model.addCons(before + 5 * set_up[t] + 3 * batch[t] - stock[t] == demand[t])
        model.addCons(batch[t] <= set_up[t])
    return model


def value_of(model, values):
    """The objective of a start that SCIP finds feasible, else None."""
    solution = model.createOrigSol()
    for variable, value in zip(model.getVars(), values, strict=True):
        model.setSolVal(solution, variable, value)
    feasible = model.checkSol(solution, printreason=False, original=True)
    return model.getSolObjVal(solution) if feasible else None


@pytest.mark.parametrize(
    ("search", "name", "within"),
    [
        (local_search, "item_placement", 1.001),
        (local_search, "set_covering", 1.05),
        (local_search, "combinatorial_auction", 0.93),
        (local_search, "generalised_assignment", 1.03),
        (restricted, "set_covering", 1.1),
        (restricted, "combinatorial_auction", 0.95),
        (restricted, "generalised_assignment", 1.1),
    ],
)
def test_what_is_found_is_near_the_optimum_and_the_same_every_time(search, name, within, tiny):
    path = tiny(name)
    optimum, model = solve(path).primal_bound, read_model(path)
    (values,), (again,) = (search.start(problem_of(model, 7, 60.0)) for _ in range(2))
    assert np.array_equal(values, again)
    value = value_of(model, values)
    assert optimum * min(within, 1) <= value * (1 + 1e-9)
    assert value <= optimum * max(within, 1) * (1 + 1e-9)


def test_continuous_variables_follow_through_equations_one_after_the_other():
    model = lot_sizing()
    (values,) = local_search.start(problem_of(model, 0, 60.0))
    value = value_of(model, values)
    model.optimize()
    assert value == pytest.approx(model.getObjVal())


def test_where_continuous_variables_follow_from_nothing_the_local_search_proposes_nothing(tiny):
    assert local_search.start(problem_of(read_model(tiny("facility_location")), 0, 60.0)) == []


def test_a_maximised_objective_is_one(knapsacks):
    model = read_model(knapsacks[0].path)
    assert model.getObjectiveSense() == "maximize"
    optimum = solve(knapsacks[0].path).primal_bound
    given = give_starts(model, StartMethod(name="local_search"), 60.0)
    assert not given.failed
    (value,) = [model.getSolObjVal(solution) for solution in model.getSols()]
    assert 0.97 * optimum <= value <= optimum * (1 + 1e-9)
    assert f"SCIP got 1 start, the best with an objective of {value:.10g}" in given.sentence


def test_earlier_solutions_are_given_whole_and_as_neighbourhoods(tiny):
    model = read_model(tiny("item_placement"))
    model.optimize()
    solution, best = solution_of(model), model.getObjVal()
    moved = {name: value for name, value in solution.items() if not name.startswith("place_0_")}
    moved["other"] = 3.0
    fresh = read_model(tiny("item_placement"))
    (same,) = family.start(problem_of(fresh, 0, 60.0, ({"other": 1.0}, moved)))[:1]
    assert value_of(fresh, same) == pytest.approx(best)  # an item without a bin is placed by the sub-MIP
    assert family.start(problem_of(fresh, 0, 60.0, ({"other": 1.0},))) == []
    starts = family.start(problem_of(fresh, 0, 60.0, (solution, moved, solution)))
    assert [value_of(fresh, values) is None for values in starts] == [False, False, True, False]


def test_lp_and_restricted_problem_are_those_of_scip(tiny):
    model = read_model(tiny("facility_location"))
    problem = problem_of(model, 0, 60.0)
    values, reduced = problem.lp
    for variable in model.getVars():
        model.chgVarType(variable, "C")
    model.optimize()
    assert problem.objective @ values == pytest.approx(model.getObjVal())
    assert (reduced[values > problem.lower + 1e-6] <= 1e-6).all()
    nothing = np.full(len(problem.names), np.nan)
    closed = np.where(problem.integer, 0.0, np.nan)
    assert problem.solve_restricted(closed, 5) is None
    whole = problem.solve_restricted(nothing, 1000)
    assert problem.objective @ whole == pytest.approx(solve(tiny("facility_location")).primal_bound)


def test_rows_on_demand_enter_the_lp_where_they_are_violated(tiny):
    problem = problem_of(read_model(tiny("facility_location")), 0, 60.0)
    values, _ = problem.lp
    pairs = np.diff(problem.indptr) == 2
    for on_demand in (pairs, np.ones_like(pairs)):
        others, _ = replace(problem, initial=~on_demand).lp
        assert problem.objective @ others == pytest.approx(problem.objective @ values)
    model = pyscipopt.Model()
    model.addCons(model.addVar(lb=None, obj=1) >= 3)  # which is unbounded without its row
    values, _ = replace(problem_of(model, 0, 60.0), initial=np.array([False])).lp
    assert values == pytest.approx([3.0])


def test_the_restricted_problem_ends_once_nothing_better_is_found(tiny):
    problem = problem_of(read_model(tiny("generalised_assignment")), 0, 60.0)
    nothing = np.full(len(problem.names), np.nan)
    early, whole = (problem.solve_restricted(nothing, 1000, stall_nodes) for stall_nodes in (1, -1))
    assert problem.objective @ early > problem.objective @ whole


def test_rows_on_demand_are_so_in_the_restricted_problem():
    model = locations(12)
    classes = [name for name in Rows(model).counts if name.endswith("c_minus_b_le_0")]
    Rows(model).put_on_demand(classes)
    problem = problem_of(model, 0, 60.0)
    assert 0 < problem.initial.sum() < len(problem.initial)
    whole = problem.solve_restricted(np.full(len(problem.names), np.nan), 1000)
    columns = np.ones(len(problem.names), dtype=bool)
    rest, _ = new_model(problem, columns, problem.rows, problem.lhs, problem.rhs, problem.initial)
    flags = [(row.isInitial(), row.isRemovable()) for row in rest.getConss()]
    assert flags == [(initial, not initial) for initial in problem.initial]
    model.optimize()
    assert problem.objective @ whole == pytest.approx(model.getObjVal())


@pytest.mark.parametrize("name", ["local_search", "restricted"])
def test_a_solve_is_charged_for_its_start_and_proves_the_same(name, tiny):
    path = tiny("item_placement")
    usual = solve(path, timed=True)
    started = solve(path, Configuration(start=name), timed=True)
    assert started.status == usual.status == "optimal"
    assert started.primal_bound == pytest.approx(usual.primal_bound)
    assert 0.0 < started.start_s < started.cpu_s
    assert started.primal_dual_integral >= 100 * started.start_s
    assert started.incumbents[0][0] >= started.start_s
    assert started.start.startswith(f"The start method {name} took ")
    assert (usual.start_s, usual.start) == (0.0, "")


def test_the_time_of_a_start_is_part_of_the_limit(tiny):
    result = solve(tiny("item_placement"), Configuration(start="local_search"), time_limit_s=0.01)
    assert result.status == "timelimit"
    assert result.nodes <= 1


def test_a_start_that_fails_costs_a_sentence(tiny, monkeypatch):
    def broken(problem):
        raise ZeroDivisionError("no bins")

    path, usual = tiny("item_placement"), solve(tiny("item_placement"))
    for proposed, sentence in [
        (broken, "it failed: ZeroDivisionError: no bins."),
        (lambda problem: np.ones(3), " it had one of the shape (3,)."),
        (lambda problem: np.full(len(problem.names), np.inf), "infinite values or none."),
        (lambda problem: [np.full(len(problem.names), np.nan)], "infinite values or none."),
        (lambda problem: "start", "it failed: "),
        (lambda problem: np.full(len(problem.names), 7.0), "SCIP got 0 starts; 1 were infeasible."),
        (lambda problem: np.zeros(len(problem.names)), "SCIP got 0 starts; 1 were infeasible."),
        (lambda problem: np.where(problem.binary, 0.5, np.nan), "SCIP got 0 starts; 1 were infeasible."),
        (lambda problem: np.full(len(problem.names), 1e300), "infinite values or none."),
    ]:
        monkeypatch.setitem(STARTS, "broken", proposed)
        result = solve(path, Configuration(start="broken"))
        assert sentence in result.start
        assert (result.status, result.nodes) == ("optimal", usual.nodes)
    monkeypatch.setitem(STARTS, "broken", broken)
    failed = "start method broken took .* CPU seconds; it failed: ZeroDivisionError"
    with pytest.warns(UserWarning, match=failed):
        attach(read_model(path), Configuration(start="broken"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attach(model := read_model(path), Configuration(start="local_search"))
    assert model.getNSols() == 1
    monkeypatch.setitem(STARTS, "broken", lambda problem: [*local_search.start(problem), np.ones(3)])
    with pytest.warns(UserWarning, match=r"it had one of the shape \(3,\)"):
        attach(model := read_model(path), Configuration(start="broken"))
    assert model.getNSols() == 0, "what is wrong is found before SCIP gets a good one"


def test_an_infeasible_start_of_an_sos_leaves_the_others(monkeypatch, tmp_path):
    (path := tmp_path / "sos.lp").write_text(
        "Maximize obj: 3 x + 2 y + 4 z\nSubject To c: x + y + z <= 10\n"
        "Bounds\n x <= 4\n y <= 5\n z <= 6\nSOS\n s: S1:: x:1 y:2 z:3\nEnd\n"
    )
    monkeypatch.setitem(STARTS, "two", lambda problem: [np.ones(3), np.array([4.0, 0.0, 0.0])])
    result = solve(path, Configuration(start="two"))
    assert "SCIP got 1 start, the best with an objective of 12; 1 were infeasible." in result.start
    assert result.primal_bound == pytest.approx(24.0)


def test_the_coefficients_of_a_variable_that_a_row_names_twice_count_together(tmp_path):
    (path := tmp_path / "twice.lp").write_text(
        "Maximize obj: 3 x + 2 z + 4 y\nSubject To c: 3 x + 5 y + 4 z + 2 x <= 8\nBinary x y z\nEnd\n"
    )
    problem = problem_of(read_model(path), 0, 60.0)
    row = dict(zip((problem.names[k] for k in problem.indices), problem.data, strict=True))
    assert row == {"x": 5.0, "y": 5.0, "z": 4.0}
    assert problem.indptr.tolist() == [0, 3]
    result = solve(path, Configuration(start="restricted", inequalities="knapsack"))
    assert result.primal_bound == pytest.approx(4.0)
    assert "failed" not in result.start


def test_what_is_fixed_to_values_that_alone_violate_a_row_has_no_solution():
    model = pyscipopt.Model()
    x = [model.addVar(f"x{k}", "B", obj=-1.0) for k in range(4)]
    model.addCons(x[0] + x[1] <= 1)
    model.addCons(x[2] + x[3] <= 1)
    problem = problem_of(model, 0, 60.0)
    assert problem.solve_restricted(np.array([1.0, 1.0, np.nan, np.nan]), 10) is None
    assert problem.solve_restricted(np.array([1.0, 0.0, np.nan, np.nan]), 10).sum() == pytest.approx(2.0)


def test_a_part_of_a_solution_is_completed_also_in_a_model_that_is_read_later(tiny, monkeypatch):
    path = tiny("item_placement")
    (values,) = local_search.start(problem_of(read_model(path), 0, 60.0))
    partial = np.where(problem_of(read_model(path), 0, 60.0).integer, values, np.nan)
    monkeypatch.setitem(STARTS, "partial", lambda problem: partial)
    whole = value_of(read_model(path), values)
    now = solve(path, Configuration(start="partial"), node_limit=1)
    assert re.search(r"SCIP got 1 start, the best with an objective of [\d.]+\.$", now.start)
    assert now.primal_bound <= 1.001 * whole
    later = pyscipopt.Model()
    later.hideOutput()
    give(Configuration(start="partial"), later, (reports := []).append)
    later.readProblem(str(path))
    later.setParams({"limits/nodes": 1, "presolving/maxrounds": 0})
    later.optimize()
    assert (reports[0].entered, reports[0].objective) == (1, pytest.approx(whole, rel=1e-3))


def test_no_part_that_cannot_be_completed_is_a_start(tiny, monkeypatch):
    path = tiny("item_placement")
    together = np.full(len(problem_of(read_model(path), 0, 60.0).names), np.nan)
    together[problem_of(read_model(path), 0, 60.0).binary] = 1.0
    monkeypatch.setitem(STARTS, "full", lambda problem: together)
    assert (
        "SCIP got 0 starts; 1 were infeasible."
        in solve(path, Configuration(start="full"), node_limit=1).start
    )


def test_a_configuration_with_a_start_is_json_and_another_method(tmp_path):
    method = Configuration(params={"separating/maxrounds": 0}, start="local_search")
    again = json.dumps(json.loads(method.text))
    assert method == method_of(method.text) == Configuration.model_validate_json(again)
    assert method.file_name == "method.json"
    assert "start: local_search" in method.shown
    plain = Configuration(params=method.params)
    same = Configuration(params=method.params, start=StartMethod(name="local_search"))
    others = [Configuration(), Configuration(start="restricted"), Configuration(start="local_search"), method]
    assert method.identity == same.identity
    assert len({each.identity for each in (plain, *others)}) == 5
    assert beside_branching(method) != beside_branching(plain)
    complete, rest = method.files(tmp_path / "ours.set").items()
    assert complete == (tmp_path / "ours.json", method.text)
    assert rest[1].startswith("# Without its start, which ours.json has.\n")
    rest[0].write_text(rest[1])
    lacks = r"has the settings without its start; give ours\.json as the rule"
    with pytest.raises(RuleError, match=lacks):
        load_method(rest[0])
    (tmp_path / "ours.json").write_text(complete[1])
    assert load_method(tmp_path / "ours.json") == method
    assert Configuration(branching=ScipMethod(name="pscost"), start="family").by_scip


@pytest.mark.parametrize(
    ("start", "why"),
    [
        ("local", "There is no start method 'local'; choose one of restricted, local_search, family"),
        ({"name": "mine", "source": "x = 1"}, r"the source of the start 'mine' must define start\(problem\)"),
        ({"name": "mine", "source": "def start(:"}, "the source of the start 'mine' is no Python"),
        ({"name": "family", "limit_s": 0}, "greater than 0"),
    ],
)
def test_what_is_no_start_is_refused(start, why):
    with pytest.raises(ValidationError, match=why):
        Configuration(start=start)


@pytest.mark.parametrize("periods", [range(1_500), range(1_499, -1, -1)], ids=["forwards", "backwards"])
def test_a_long_chain_of_stocks_is_followed_at_once(periods):
    model = pyscipopt.Model()
    model.hideOutput()
    batch, stock = {}, {}
    for t in periods:
        batch[t], stock[t] = model.addVar(f"b{t}", "B", obj=5), model.addVar(f"s{t}", obj=1)
    for t in periods:
        model.addCons((stock[t - 1] if t else 0) + 3 * batch[t] - stock[t] == 1)
    began = time.process_time()
    (values,) = local_search.start(problem_of(model, 0, 60.0))
    assert value_of(model, values) is not None
    assert time.process_time() - began < 20.0
