"""Inequalities of a configuration: no optimum is lost, nothing is written without knapsacks, time is charged."""

import json
import warnings

import numpy as np
import pyscipopt
import pytest
from pydantic import ValidationError

import bife_core
from bife_core.solver.inequalities.giving import give_inequalities
from bife_core.solver.inequalities.knapsacks import knapsack
from bife_core.solver.methods.attach import solve
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
        given += give_inequalities(model, "knapsack").entered
        model.optimize()
        assert model.getObjVal() == pytest.approx(best)
    assert given > 10


def test_the_rows_that_are_added_are_not_needed_and_may_leave_the_lp():
    model = packed(0)
    before = model.getNConss()
    given = give_inequalities(model, "knapsack")
    rows = model.getConss()[before:]
    assert len(rows) == given.entered > 0
    for row in rows:
        assert row.isRemovable()
        assert not any((row.isChecked(), row.isEnforced(), row.isPropagated()))


def test_variables_of_the_same_name_and_rows_without_names_are_told_apart():
    alike, named = packed(1, names="x"), packed(1)
    assert give_inequalities(alike, "knapsack").entered == give_inequalities(named, "knapsack").entered > 0
    for model in (alike, named):
        model.optimize()
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
    given = give_inequalities(model := trouble(kind), "knapsack")
    assert given.sentence.endswith("the model has no such row.")
    assert (given.entered, given.failed) == (0, False)
    assert model.getNConss() == (kind != "empty")


@pytest.mark.parametrize("kind", ["infeasible", "unbounded"])
def test_without_an_optimum_of_the_lp_nothing_is_given_and_nothing_fails(kind):
    given = give_inequalities(model := trouble(kind), "knapsack")
    assert (given.entered, given.failed) == (0, False)
    model.optimize()
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
    with pytest.warns(UserWarning, match="they failed"):
        bife_core.attach(packed(0), FACETS)


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
    before = model.getNConss()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bife_core.attach(model, FACETS)
    assert model.getNConss() > before


def test_they_are_part_of_a_configuration():
    assert FACETS.identity != Configuration().identity
    assert FACETS.changes != Configuration().changes
    assert FACETS.beside_settings == ("its inequalities",)
    assert "# inequalities: knapsack\n" in FACETS.shown
    assert json.loads(FACETS.text)["inequalities"] == "knapsack"
    assert Configuration.model_validate_json(FACETS.text) == FACETS
    with pytest.raises(ValidationError, match="inequalities"):
        Configuration(inequalities="links")
