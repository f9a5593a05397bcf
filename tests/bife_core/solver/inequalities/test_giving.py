"""Inequalities of a configuration: no optimum is lost, nothing is written without knapsacks, time is charged."""

import json
import warnings

import numpy as np
import pyscipopt
import pytest
from pydantic import ValidationError

import bife_core
from bife_core.solver.inequalities.knapsacks import knapsack
from bife_core.solver.methods.attach import give, solve
from bife_core.solver.methods.configuration import Configuration

FACETS = Configuration(inequalities="knapsack")


def packed(seed, names=None, signs=False, sense="le", items=14):
    """Return a model of three random knapsacks, all of whose variables may have one name; some weights negative."""
    generator, model = np.random.default_rng(seed), pyscipopt.Model()
    model.hideOutput()
    variables = [model.addVar(f"x{k}" if names is None else names, "B") for k in range(items)]
    values = generator.integers(10, 40, items).tolist()
    for _ in range(3):
        weights = generator.integers(5, 40, items)
        weights = np.where(generator.random(items) < 0.3, -weights, weights) if signs else weights
        left = pyscipopt.quicksum(int(w) * x for w, x in zip(weights, variables, strict=True))
        side = int(weights.sum() // 2)
        model.addCons(left <= side if sense == "le" else -left >= -side, name="" if names else "row")
    model.setObjective(pyscipopt.quicksum(v * x for v, x in zip(values, variables, strict=True)), "maximize")
    return model


def included(model):
    """Have a model get inequalities; return the list that gets what became of them."""
    reports = []
    give(FACETS, model, reports.append)
    return reports


def optimized(model):
    """Solve a model with inequalities; return what became of them."""
    reports = included(model)
    model.optimize()
    (report,) = reports
    return report


@pytest.mark.parametrize("sense", ["le", "ge"])
@pytest.mark.parametrize("signs", [False, True])
def test_the_optimum_is_the_same_and_is_what_enumeration_finds(signs, sense):
    given = 0
    for seed in range(6):
        model = packed(seed, signs=signs, sense=sense)
        points = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
        feasible = np.ones(len(points), dtype=bool)
        for row in model.getConss():
            activity = points @ np.array(model.getConsVals(row))
            feasible &= (activity <= model.getRhs(row)) & (activity >= model.getLhs(row))
        best = (points[feasible] @ [variable.getObj() for variable in model.getVars()]).max()
        given += optimized(model).entered
        assert model.getObjVal() == pytest.approx(best)
    assert given > 10


def test_the_rows_that_are_added_are_not_needed_and_may_leave_the_lp():
    model = packed(0)
    before, reports = model.getNConss(), included(model)
    model.setParam("presolving/maxrounds", 0)
    model.presolve()
    rows = model.getConss()[before:]
    assert len(rows) == reports[0].entered > 0
    for row in rows:
        assert row.isRemovable()
        assert not any((row.isChecked(), row.isEnforced(), row.isPropagated()))


def test_a_model_that_changes_between_solves_gets_others_and_its_own_optimum():
    for seed in range(4):
        model, plain = packed(seed), packed(seed)
        reports = included(model)
        for further in (0, 25, -40):
            for each in (model, plain):
                each.freeTransform()
                row = each.getConss()[0]
                each.chgRhs(row, each.getRhs(row) + further)
                each.optimize()
            assert model.getObjVal() == pytest.approx(plain.getObjVal())
        assert [given.failed for given in reports] == [False] * 3


def test_a_restart_brings_no_others():
    reports = included(model := packed(3, items=40))
    model.setParams(dict.fromkeys([f"presolving/{name}" for name in ("restartfac", "immrestartfac")], 0.0))
    model.setParams({"presolving/restartminred": 0.0, "presolving/subrestartfac": 0.0})
    model.optimize()
    assert model.getNRuns() > 1
    assert len(reports) == 1


def test_rows_of_different_variables_are_proven_one_after_another():
    for seed in range(4):
        generator = np.random.default_rng(seed)
        model = packed(seed, items=20)
        variables = model.getVars()
        for _ in range(5):
            some = generator.choice(20, 9, replace=False).tolist()
            weights = generator.integers(5, 40, 9)
            left = pyscipopt.quicksum(int(w) * variables[k] for w, k in zip(weights, some, strict=True))
            model.addCons(left <= int(weights.sum() // 2))
        given = optimized(model)
        assert (given.failed, given.entered > 0) == (False, True)


def test_they_take_half_of_the_time_limit_at_most():
    model = packed(0, items=120)
    variables, generator = model.getVars(), np.random.default_rng(0)
    for _ in range(300):
        weights = generator.integers(5, 900, 120)
        left = pyscipopt.quicksum(int(w) * x for w, x in zip(weights, variables, strict=True))
        model.addCons(left <= int(weights.sum() // 2))
    model.setParams({"limits/time": 1.0, "timing/clocktype": 1})
    given = optimized(model)
    assert not given.failed
    assert given.cpu_s < 1.0
    assert model.getNSols()


def test_variables_of_the_same_name_and_rows_without_names_are_told_apart():
    alike, named = packed(1, names="x"), packed(1)
    assert optimized(alike).entered == optimized(named).entered > 0
    assert alike.getObjVal() == named.getObjVal()


def trouble(kind):
    """Return a model with which nothing can be written."""
    model = pyscipopt.Model()
    model.hideOutput()
    about = {"vtype": "I", "ub": 2} if kind == "integer" else {"vtype": "B"}
    x = [model.addVar(f"x{k}", **about) for k in range(5)]
    scale = {"fractional": 0.3, "large": 1e5}.get(kind, 1.0)
    if kind == "cover":
        model.addCons(pyscipopt.quicksum(x) >= 2)
    elif kind != "empty":
        model.addCons(pyscipopt.quicksum((3 + k) * scale * v for k, v in enumerate(x)) <= 11.0 * scale)
    if kind == "infeasible":
        model.addCons(x[0] + x[1] >= 3)
    model.setObjective(pyscipopt.quicksum(x), "maximize")
    if kind == "unbounded":
        model.setObjective(model.addVar("free", lb=None, ub=None), "maximize")
    return model


@pytest.mark.parametrize("kind", ["cover", "integer", "fractional", "large", "empty"])
def test_nothing_is_written_and_no_lp_is_solved_without_a_knapsack(kind, monkeypatch):
    monkeypatch.setattr("bife_core.solver.inequalities.giving.written_for", None)
    given = optimized(model := trouble(kind))
    assert given.sentence.endswith("the model has no such row.")
    assert (given.entered, given.failed) == (0, False)
    assert model.getNConss(False) == (kind != "empty")


@pytest.mark.parametrize("kind", ["infeasible", "unbounded"])
def test_without_an_optimum_of_the_lp_nothing_is_given_and_nothing_fails(kind):
    given = optimized(model := trouble(kind))
    assert (given.entered, given.failed) == (0, False)
    assert model.getStatus() == kind


def test_what_is_a_knapsack():
    sizes, room, complemented = knapsack(np.array([3.0, -2.0, 5.0]), 4.5)
    assert (sizes.tolist(), room, complemented.tolist()) == ([3.0, 2.0, 5.0], 6, [False, True, False])
    others = (([2, 3], capacity) for capacity in (5, 0, np.inf, np.nan))
    for weights, capacity in (([1, 1, 1], 2), ([2, 0.5], 2), *others):
        assert knapsack(np.array(weights, dtype=float), capacity) is None


def test_a_failure_costs_its_time_and_a_sentence(monkeypatch, tmp_path):
    def fail(*_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("bife_core.solver.inequalities.giving.written_for", fail)
    packed(0).writeProblem(path := str(tmp_path / "model.mps"), verbose=False)
    result = solve(path, FACETS)
    assert result.status == "optimal"
    assert result.start.endswith("they failed: ZeroDivisionError: by nothing.")
    bife_core.attach(model := packed(0), FACETS)
    with pytest.warns(UserWarning, match="they failed"):
        model.optimize()


def test_solve_and_attach_take_them_beside_a_start_and_charge_their_time(tmp_path):
    model = packed(2)
    model.writeProblem(path := str(tmp_path / "model.mps"), verbose=False)
    usual, found = solve(path), solve(path, Configuration(inequalities="knapsack", start="restricted"))
    assert found.primal_bound == pytest.approx(usual.primal_bound)
    assert (usual.start, usual.start_s) == ("", 0.0)
    assert "The start method restricted took" in found.start
    assert "The inequalities knapsack took" in found.start
    alone = solve(path, FACETS)
    assert 0.0 < alone.start_s <= alone.cpu_s
    assert "all proven, of" in alone.start
    for attached in (pyscipopt.Model(), model):
        attached.hideOutput()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bife_core.attach(attached, FACETS)
            if attached is not model:
                attached.readProblem(path)
            before = attached.getNConss()
            attached.setParam("presolving/maxrounds", 0)
            attached.presolve()
            assert attached.getNConss() > before
            attached.optimize()
        assert attached.getObjVal() == pytest.approx(usual.primal_bound)


def test_they_are_part_of_a_configuration():
    assert FACETS.identity != Configuration().identity
    assert FACETS.changes != Configuration().changes
    assert FACETS.beside_settings == ("its inequalities",)
    assert "# inequalities: knapsack\n" in FACETS.shown
    assert json.loads(FACETS.text)["inequalities"] == "knapsack"
    assert Configuration.model_validate_json(FACETS.text) == FACETS
    with pytest.raises(ValidationError, match="inequalities"):
        Configuration(inequalities="links")
