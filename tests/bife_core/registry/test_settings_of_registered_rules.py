"""Users of a registered rule are warned of settings of SCIP, and sizes of models, that it was not measured under."""

import warnings

import pyscipopt
import pytest

import bife_core
from bife_core.base.likeness import Likeness
from bife_core.solver.export import export_c
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import SolverConfig
from tests.support.registered import evidence, source, under


@pytest.fixture
def made_champion(home_registry):
    return lambda name, **known: home_registry.register(name, source(0), evidence(0, **known), by_gate=True)


def test_attaching_a_rule_of_other_settings_warns(home_registry, made_champion, name, model):
    made_champion(name, **under(SolverConfig(name="paper")))
    reference = f"models:/{name}@champion"
    with pytest.warns(UserWarning, match=r"measured under paper settings; here .*separating/maxrounds is -1"):
        bife_core.attach(read_model(model), f"{reference},budget=0.5")
    with pytest.warns(UserWarning, match="was measured under paper settings"):
        bife_core.solve(model, reference)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        bife_core.solve(model, reference, solver="paper", time_limit_s=5, seed=3)
        bife_core.solve(model, bife_core.load_rule(reference))
    made_champion(
        f"{name}-own", **under(SolverConfig(name="a.set", params={"lp/scaling": 0, "limits/time": 9.0}))
    )
    with pytest.warns(UserWarning, match=r"the settings of a\.set; here lp/scaling is 1 and was 0\."):
        bife_core.solve(model, f"models:/{name}-own@champion")
    unknown = made_champion(f"{name}-old", solver_params="")
    with pytest.warns(UserWarning, match="settings it was measured under were not recorded"):
        bife_core.solve(model, unknown.reference, solver="paper")
    home_registry.update(unknown.name, unknown.version, {}, without=["solver_params"])
    with pytest.warns(UserWarning, match="settings it was measured under were not recorded"):
        bife_core.solve(model, unknown.reference, solver="paper")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"heuristics/rens/freq": -1}, r"heuristics/rens/freq is -1 and was 0\."),
        ({"branching/scorefunc": "s"}, "branching/scorefunc is s and was p"),
        ({"limits/nodes": 1, "randomization/lpseed": 3, "branching/relpscost/priority": 9}, None),
    ],
)
def test_whatever_a_model_has_set_beside_the_recorded_is_told(made_champion, name, model, params, said):
    reference = made_champion(name).reference
    scip = read_model(model)
    scip.setParams(params)
    with pytest.warns(UserWarning, match=said) if said else warnings.catch_warnings():
        warnings.simplefilter("always" if said else "error", UserWarning)
        bife_core.attach(scip, reference)
    assert "Measured under SCIP default settings" in export_c(reference)


@pytest.mark.usefixtures("in_process")
def test_a_comparison_under_other_settings_is_told(made_champion, name, model, tmp_path):
    reference = made_champion(name).reference
    with pytest.warns(UserWarning, match="here presolving/maxrestarts is 0 and was -1, sep"):
        bife_core.compare(reference, model, settings="paper", store=tmp_path, metric="nodes")


def test_a_method_made_for_models_of_other_sizes_is_used_with_a_warning(made_champion, name, model):
    counts = {
        "variables": (400.0, 500.0),
        "constraints": (3.0, 3.0),
        "% of constraints: knapsack": (100.0, 100.0),
    }
    other = made_champion(name, likeness=Likeness(ranges=counts).model_dump_json()).reference
    with pytest.warns(
        UserWarning, match=r"measured on other instances \(variables: \d+ here, 400 to 500 there\)"
    ):
        bife_core.attach(read_model(model), other)
    scip = read_model(model)
    with pytest.warns(UserWarning, match="it may be slow here"), bife_core.used(other):
        scip.optimize()
    size = {"variables": (1.0, 500.0), "constraints": (1.0, 500.0)}
    like = made_champion(f"{name}-like", likeness=Likeness(ranges=size).model_dump_json()).reference
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        bife_core.attach(read_model(model), like)
        bife_core.attach(pyscipopt.Model(), other)  # its problem comes later
