"""Unchanged models of each modelling layer, solved with what was found, and what layers say at limits."""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.methods.used import used
from bife_core.solver.scip.settings import usual_parameters
from tests.layers import models
from tests.layers.models import IMPOSSIBLE, LONG, SMALL

pytestmark = pytest.mark.layers

ROOT = Path(__file__).parents[2]

ROUNDS = {"separating/maxrounds": 0, "separating/maxroundsroot": 0}
LEAN = Configuration(name="lean", params=ROUNDS, branching=load_method("pseudocost_product"))
WITHIN = ("pulp_scip_py", "pyomo_scip_direct", "pyomo_scip_persistent", "linopy", "cvxpy", "ommx")
WITHIN = {name: getattr(models, name) for name in WITHIN}
"""Layers that run PySCIPOpt."""
RUN = {name: getattr(models, name) for name in ("pulp_scip_cmd", "pyomo_scip")}
"""Layers that run a program."""
LAYERS = WITHIN | RUN


class Keeping(Method):
    """A method that first writes the model that a layer hands to SCIP, and its settings."""

    kind: str = "keeping"
    name: str = "keeping"
    method: Method

    @property
    def identity(self):
        return self.method.identity

    def attach(self, model, guard=False):
        model.writeProblem("handed_over.cip", verbose=False)
        set_by_layer = {
            f"{name} = {value}\n"
            for name, value in model.getParams().items()
            if value != usual_parameters()[name]
        }
        Path("layer.set").write_text(
            "".join(line for line in set_by_layer if not line.startswith("display/"))
        )
        return self.method.attach(model, guard)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BIFE_RULE", raising=False)
    (tmp_path / "lean.json").write_text(LEAN.text)
    return tmp_path


def logged_nodes():
    """Return the nodes in the log of `bife-scip`."""
    nodes, total = re.findall(
        r"Solving Nodes +: (\d+)(?: \(total of (\d+) nodes)?", Path("solve.log").read_text()
    )[-1]
    return int(total or nodes)


@pytest.mark.parametrize("name", WITHIN)
def test_a_layer_that_runs_pyscipopt_takes_the_nodes_of_solve(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*lean.*")
        with used(Keeping(method=LEAN)) as uses:
            says = WITHIN[name](SMALL)
    assert says[-1] == 701
    (use,) = uses.models
    expected = solve("handed_over.cip", LEAN, solver="layer.set")
    assert (uses.solves, use.status, use.without) == (1, "optimal", "")
    assert uses.nodes == expected.nodes > 1
    assert use.stats.calls == expected.calls > 0
    plain = solve("handed_over.cip", solver="layer.set")
    assert plain.nodes != uses.nodes
    with used(Keeping(method=load_method("relpscost"))) as uses:
        WITHIN[name](SMALL)
    assert uses.nodes == plain.nodes


@pytest.mark.parametrize(
    ("name", "instance"), [("pulp_scip_cmd", "knapsack-pulp.lp"), ("pyomo_scip", "solve.nl")]
)
def test_a_layer_that_runs_a_program_takes_the_nodes_of_solve(name, instance, folder, monkeypatch):
    monkeypatch.setenv("BIFE_RULE", str(folder / "lean.json"))
    assert RUN[name](SMALL)[-1] == 701
    assert logged_nodes() == nodes_of(instance, LEAN) > 1
    monkeypatch.delenv("BIFE_RULE")
    assert RUN[name](SMALL)[-1] == 701
    assert logged_nodes() == nodes_of(instance, load_method("relpscost")) != nodes_of(instance, LEAN)


def nodes_of(instance, method):
    """Return the nodes of a solve of a file that SCIP reads."""
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    model.readProblem(instance)
    attach(model, method)
    model.optimize()
    return model.getNTotalNodes()


def test_a_persistent_solver_attaches_once_and_keeps_the_rule():
    made = models.in_pyomo(SMALL)
    import pyomo.environ as pyo

    solver = pyo.SolverFactory("scip_persistent")
    solver.set_instance(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with used(LEAN) as uses:
            solver.solve(made)
            first, calls = uses.nodes, uses.models[0].stats.calls
            made.take[int(next(i for i in range(30) if made.take[i].value > 0.5))].fix(0)
            solver.solve(made)
    assert (len(uses.models), uses.solves) == (1, 2)
    assert uses.nodes > first > 1
    assert uses.models[0].stats.calls > calls > 0


def test_pypsa_takes_the_nodes_of_solve():
    with used(Keeping(method=LEAN)) as uses:
        assert models.pypsa() == ("ok", "optimal")
    assert uses.nodes == solve("handed_over.cip", LEAN, solver="layer.set").nodes > 1


OPTIMAL = {
    "pulp_scip_py": ("Optimal", 1),
    "pulp_scip_cmd": ("Optimal", 1),
    "pyomo_scip": ("ok", "optimal"),
    "pyomo_scip_direct": ("ok", "optimal"),
    "pyomo_scip_persistent": ("ok", "optimal"),
    "linopy": ("ok", "optimal"),
    "cvxpy": ("optimal",),
    "ommx": ("optimal",),
}
TIME_LIMIT = {
    "pulp_scip_py": ("Optimal", 2),
    "pulp_scip_cmd": ("Optimal", 1),
    "pyomo_scip": ("ok", "maxTimeLimit"),
    "pyomo_scip_direct": ("aborted", "maxTimeLimit"),
    "pyomo_scip_persistent": ("aborted", "maxTimeLimit"),
    "linopy": ("ok", "time_limit"),
    "cvxpy": ("optimal_inaccurate",),
    "ommx": ("unspecified",),
}
GAP_LIMIT = TIME_LIMIT | {
    "pyomo_scip": ("ok", "other"),
    "pyomo_scip_direct": ("ok", "optimal"),
    "pyomo_scip_persistent": ("ok", "optimal"),
    "linopy": ("ok", "optimal"),
}
INFEASIBLE = {
    "pulp_scip_py": ("Infeasible", -1, None),
    "pulp_scip_cmd": ("Infeasible", -1, 0),
    "pyomo_scip": ("warning", "infeasible", None),
    "pyomo_scip_direct": "NoFeasibleSolutionError",
    "pyomo_scip_persistent": "NoFeasibleSolutionError",
    "linopy": ("warning", "infeasible", None),
    "cvxpy": ("infeasible", -float("inf")),
    "ommx": "InfeasibleDetected",
}
WITHOUT_SOLUTION = {
    "pulp_scip_py": ("Not Solved", 0, None),
    "pulp_scip_cmd": ("Not Solved", -1, 0),
    "pyomo_scip": ("ok", "maxTimeLimit", None),
    "pyomo_scip_direct": "NoFeasibleSolutionError",
    "pyomo_scip_persistent": "NoFeasibleSolutionError",
    "linopy": "Warning",
    "cvxpy": "SolverError",
    "ommx": "NoSolutionReturned",
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_layer_says_at_limits_is_what_the_page_says(name, folder, monkeypatch):
    monkeypatch.setenv(
        "BIFE_RULE", str(folder / "lean.json")
    )  # Pyomo's scip runs elsewhere where it has options
    layer = LAYERS[name]

    def says(*arguments):
        with used(LEAN) as uses:
            try:
                result = layer(*arguments)
            except Exception as error:  # noqa: BLE001 - each layer has its own
                result = type(error).__name__
        assert uses.solves == (name in WITHIN)
        return result

    *words, value = says(SMALL)
    assert (*words,) == OPTIMAL[name]
    assert value == 701
    *words, value = says(LONG, 1)
    assert (*words,) == TIME_LIMIT[name]
    assert 5000 < value < 6000
    *words, value = says(SMALL, None, 0.2)
    assert (*words,) == GAP_LIMIT[name]
    assert 0.8 * 701 < value < 701
    assert says(IMPOSSIBLE) == INFEASIBLE[name]
    assert says(LONG, 0.0) == WITHOUT_SOLUTION[name]


@pytest.mark.parametrize(
    ("package", "example"), [("pyomo", "pyomo_locations"), ("pypsa", "pypsa_commitment")]
)
def test_whole_examples_print_their_ratio(package, example):
    models.layer(package)
    few = ["--tuned", "2", "--solved", "1", "--seconds", "4"]
    command = [sys.executable, "-m", f"bench.layers.{example}", *few]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    solved, ratio = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert solved["nodes"] >= 1
    assert ratio["ratio"] == pytest.approx(solved["cpu_s"] / solved["plain_cpu_s"], rel=0.1)
