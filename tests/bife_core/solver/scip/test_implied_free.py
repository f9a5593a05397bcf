"""Implied free variables: equations replace them, and optimum and solutions stay what they are."""

import ctypes
import random

import pyscipopt
import pytest
from pydantic import ValidationError

from bife_core.base.errors import SolverError
from bife_core.instances.base import Place
from bife_core.instances.families.unit_commitment import FAMILY, unit_commitment
from bife_core.instances.milp import mps_text
from bife_core.solver.methods.attach import attach
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import method_of
from bife_core.solver.scip.exactness import violation_of
from bife_core.solver.scip.implied_free import NAME, ImpliedFree, keeps_all
from bife_core.solver.scip.libscip import function, scip_address, scip_errors
from bife_core.solver.scip.reader import read_model
from bife_core.tuning.large_classes import family_facts
from bife_core.tuning.space import Space


def aggregated(model):
    """How many variables a model's `ImpliedFree` aggregated."""
    scip = ctypes.c_void_p(scip_address(model))
    presolver = function("SCIPfindPresol", ctypes.c_void_p)(scip, NAME.encode())
    return function("SCIPpresolGetNAggrVars")(ctypes.c_void_p(presolver))


def plant(model=None, kind="C", more=0.0):
    """Steps of power in each hour, which ramps tie: power is a sum of steps, so that its bounds say nothing new."""
    model = model or pyscipopt.Model()
    model.hideOutput()
    powers = []
    for t in range(6):
        steps = [model.addVar(f"s{t}_{k}", vtype=kind, lb=0, ub=3, obj=2 + k + (t * k) % 3) for k in range(3)]
        powers.append(model.addVar(f"p_{t}", vtype=kind, lb=0, ub=9, obj=1 - t % 2))
        on = model.addVar(f"u{t}", vtype="B", obj=3)
        model.addCons(powers[t] - pyscipopt.quicksum(steps) == 0, name=f"power_{t}")
        model.addCons(powers[t] >= 1 + (3 * t) % 5 + more, name=f"demand_{t}")
        model.addCons(pyscipopt.quicksum((k + 1) * steps[k] for k in range(3)) <= 14 * on, name=f"on_{t}")
        if t:
            model.addCons(powers[t] - powers[t - 1] <= 2, name=f"up_{t}")
            model.addCons(powers[t - 1] - powers[t] <= 2, name=f"down_{t}")
            model.addCons(powers[t] + powers[t - 1] + steps[0] <= 19, name=f"both_{t}")
    return model


def solved(model, integers=None):
    """Solve a model, with `ImpliedFree` unless `integers` is None, and see that its solution is one."""
    if integers is not None:
        ImpliedFree.include(model, integers)
    model.optimize()
    if model.getStatus() == "optimal":
        best = model.getBestSol()
        assert model.checkSol(best, original=True)
        assert violation_of(model, best) is None
        return round(model.getObjVal(), 5)
    return model.getStatus()


def test_a_sum_of_steps_is_replaced_in_all_its_rows():
    model = plant()
    assert solved(model, False) == solved(plant())
    assert aggregated(model) >= 4


def test_integers_are_replaced_only_if_asked_and_if_the_equation_makes_them_whole():
    counts = {}
    for integers in (False, True):
        model = plant(kind="I")
        assert solved(model, integers) == solved(plant(kind="I"))
        counts[integers] = aggregated(model)
    assert counts[False] == 0 < counts[True]


def test_unit_commitment_has_fewer_variables(tmp_path):
    place = Place(FAMILY.name, "tiny", "design", 0, 0)
    path = tmp_path / "model.mps"
    path.write_bytes(mps_text(unit_commitment(place, **FAMILY.sizes["tiny"])).encode())
    left = {}
    for integers in (None, False):
        model = pyscipopt.Model()
        model.hideOutput()
        if integers is not None:
            ImpliedFree.include(model, integers)
        model.readProblem(str(path))
        optimum = solved(model)
        left[integers] = (optimum, aggregated(model) if integers is not None else 0)
    assert left[None][0] == pytest.approx(left[False][0], rel=1e-6)
    assert left[False][1] > 10


def drawn(seed):
    """A small random MIP, with sums that are variables."""
    draw = random.Random(seed)
    model = pyscipopt.Model()
    model.hideOutput()
    variables = [
        model.addVar(f"x{j}", vtype=draw.choice("CCBI"), lb=0, ub=draw.randint(1, 9), obj=draw.randint(-9, 9))
        for j in range(10)
    ]
    point = [draw.randint(0, round(x.getUbOriginal())) for x in variables]
    for k in range(4):
        parts = draw.sample(range(len(variables)), 3)
        signs = [draw.choice((-2, -1, 1, 2)) for _ in parts]
        reach = 60 if draw.random() < 0.7 else 2  # bounds that follow, and bounds that do not
        whole = all(variables[i].vtype() != "CONTINUOUS" for i in parts)
        total = model.addVar(
            f"z{k}", vtype="I" if whole else "C", lb=-reach, ub=reach, obj=draw.randint(-3, 3)
        )
        model.addCons(
            total - pyscipopt.quicksum(s * variables[i] for s, i in zip(signs, parts, strict=True)) == 0
        )
        point.append(sum(s * point[i] for s, i in zip(signs, parts, strict=True)))
        variables.append(total)
    for _ in range(10):
        parts = draw.sample(range(len(variables)), 4)
        signs = [draw.choice((-3, -1, 1, 2)) for _ in parts]
        side = sum(s * point[i] for s, i in zip(signs, parts, strict=True)) + draw.randint(-1, 2)
        row = pyscipopt.quicksum(s * variables[i] for s, i in zip(signs, parts, strict=True))
        model.addCons(row == side if draw.random() < 0.15 else row <= side)
    return model


def test_random_problems_have_the_same_optimum():
    counts, outcomes = 0, set()
    for seed in range(80):
        expected = solved(drawn(seed))
        outcomes.add(type(expected))
        for integers in (False, True):
            model = drawn(seed)
            assert solved(model, integers) == (
                pytest.approx(expected) if type(expected) is float else expected
            )
            counts += aggregated(model)
    assert counts > 80
    assert outcomes == {float, str}


def test_bounds_that_rows_do_not_imply_are_kept():
    model = pyscipopt.Model()
    model.hideOutput()
    x, y, z = (model.addVar(name, lb=0, ub=4, obj=-1) for name in "xyz")
    total = model.addVar("total", lb=0, ub=7.5)
    model.addCons(total - x - y - z == 0)
    for k, one in enumerate((x, y, z)):
        model.addCons(total + (k + 2) * one <= 40)
    assert solved(model, False) == -7.5
    assert aggregated(model) == 0


def test_variables_of_other_constraints_stay():
    model = plant()
    powers = [variable for variable in model.getVars() if variable.name.startswith("p_")]
    model.addConsSOS2(powers, list(range(6)))
    ImpliedFree.include(model, False)
    model.presolve()
    assert aggregated(model) == 0


def test_rows_that_may_get_variables_imply_nothing():
    model = plant()
    for row in model.getConss():
        if row.name.startswith("power"):
            model.setModifiable(row, True)
    assert solved(model, False) == solved(plant())
    assert aggregated(model) == 0


class Columns(pyscipopt.Pricer):
    """Prices nothing."""

    def pricerredcost(self):
        return {"result": pyscipopt.SCIP_RESULT.SUCCESS}


class Own(pyscipopt.Conshdlr):
    """Locks nothing and is always content."""

    def conscheck(self, *_):
        return {"result": pyscipopt.SCIP_RESULT.FEASIBLE}

    def conslock(self, *_):
        return {}

    consenfolp = consenfops = conscheck


def test_where_columns_may_be_added_all_stay():
    model = plant()
    model.includePricer(Columns(), "columns", "")
    assert keeps_all(model) == "columns may be added"
    solved(model, False)
    assert aggregated(model) == 0


def test_it_is_told_when_a_model_has_a_handler_of_its_own():
    model = plant()
    assert keeps_all(model) == ""
    model.includeConshdlr(Own(), "own", "", needscons=False)
    assert keeps_all(model) == "it has a constraint handler of its own"


def test_a_model_is_solved_again_and_a_problem_read_later(tmp_path):
    model, optimum = plant(), solved(plant())
    assert solved(model, False) == optimum
    count = aggregated(model)
    model.freeTransform()
    assert solved(model) == optimum
    assert aggregated(model) >= count > 0  # SCIP may count anew
    plant(more=0.5).writeProblem(str(file := tmp_path / "other.lp"), verbose=False)
    for _ in range(2):
        model.readProblem(str(file))
        assert solved(model) == solved(plant(more=0.5)) > optimum
        assert aggregated(model) > 0


def test_a_refusal_is_an_error(monkeypatch):
    monkeypatch.setattr(ImpliedFree, "_aggregate", lambda self: (5, [-4] * 13))
    model = plant()
    ImpliedFree.include(model, False)
    with (
        pytest.raises(SolverError, match=r"SCIP refused to aggregate a variable .* \(return code -4\)"),
        scip_errors("It failed"),
    ):
        model.optimize()


def test_a_configuration_has_them_aggregated_now_and_in_a_problem_read_later(tmp_path):
    plant(kind="I").writeProblem(str(file := tmp_path / "model.lp"), verbose=False)
    for kind, some in (("continuous", False), ("all", True)):
        attach(model := read_model(file), Configuration(implied_free=kind))
        model.optimize()
        assert (aggregated(model) > 0) is some
        later = pyscipopt.Model()
        later.hideOutput()
        attach(later, Configuration(implied_free=kind))
        later.readProblem(str(file))
        later.optimize()
        assert aggregated(later) == aggregated(model)


def test_a_configuration_with_them_is_json_and_says_what_it_aggregates(tmp_path):
    method = Configuration(implied_free="all")
    assert method_of(method.text, "fewer") == method
    assert method.identity not in (
        Configuration().identity,
        Configuration(implied_free="continuous").identity,
    )
    assert "# implied free variables aggregated: all" in method.shown
    _, settings = method.files(tmp_path / "found.set").values()
    assert "# Without its aggregation of implied free variables, which found.json has." in settings
    with pytest.raises(ValidationError, match="Input should be 'continuous' or 'all'"):
        Configuration(implied_free="some")


def test_a_model_with_a_constraint_handler_keeps_its_variables_with_a_warning():
    (model := plant()).includeConshdlr(pyscipopt.Conshdlr(), "lazy", "", needscons=False)
    with pytest.warns(UserWarning, match="aggregates no implied free variables: it has a constraint handler"):
        attach(model, Configuration(implied_free="all"))


def test_they_are_tuned_where_instances_have_them(tmp_path):
    plant().writeProblem(str(some := tmp_path / "some.lp"), verbose=False)
    (none := tmp_path / "none.lp").write_text("Minimize\n o: x + y\nSubject To\n c: x + y >= 1\nEnd\n")
    for files, tuned in (([some], True), ([some, none], False)):
        space = Space({}, facts=family_facts([*map(str, files)]))
        assert ("implied_free" in {row.name for row in space.rows}) is tuned
    assert Space({}).configuration({"implied_free": "all"}) == Configuration(implied_free="all")
