"""One knapsack with several resources, as people write it in each modelling layer; unchanged but for limits."""

import random
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest


class Knapsack(NamedTuple):
    """Gains of items, weights by resource and item, and capacities."""

    gains: list
    weights: list
    capacities: list


def knapsack(items, resources=5, seed=3):
    """Draw one."""
    generator = random.Random(seed)
    weights = [[generator.randint(10, 60) for _ in range(items)] for _ in range(resources)]
    gains = [generator.randint(10, 60) for _ in range(items)]
    return Knapsack(gains, weights, [sum(row) // 2 for row in weights])


SMALL = knapsack(30)
LONG = knapsack(250, 30)
"""SCIP takes minutes for it, whatever branches."""
IMPOSSIBLE = SMALL._replace(weights=[*SMALL.weights, [-1] * 30], capacities=[*SMALL.capacities, -31])
"""More items than there are have to be taken."""


def layer(name):
    """Return a layer's package, or skip the test."""
    return pytest.importorskip(name, reason=f"{name} is not installed: make layers")


def shell():
    """Return the path of `bife-scip`, which has to be installed beside this Python."""
    return shutil.which("bife-scip", path=Path(sys.executable).parent) or pytest.skip(
        "bife-scip is not installed"
    )


def in_pulp(model):
    """Return PuLP's model."""
    pulp = layer("pulp")
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    x = [pulp.LpVariable(f"x{item}", cat="Binary") for item in range(len(model.gains))]
    problem += pulp.lpSum(gain * take for gain, take in zip(model.gains, x, strict=True))
    for row, capacity in zip(model.weights, model.capacities, strict=True):
        problem += pulp.lpSum(weight * take for weight, take in zip(row, x, strict=True)) <= capacity
    return problem


def in_pyomo(model):
    """Return Pyomo's model."""
    layer("pyomo")
    import pyomo.environ as pyo

    made = pyo.ConcreteModel()
    items, resources = range(len(model.gains)), range(len(model.weights))
    made.take = pyo.Var(items, domain=pyo.Binary)
    made.gain = pyo.Objective(expr=sum(model.gains[i] * made.take[i] for i in items), sense=pyo.maximize)
    made.fits = pyo.Constraint(
        resources,
        rule=lambda m, k: sum(model.weights[k][i] * m.take[i] for i in items) <= model.capacities[k],
    )
    return made


def _pulp(model, solver):
    pulp, problem = layer("pulp"), in_pulp(model)
    problem.solve(solver)
    return pulp.LpStatus[problem.status], problem.sol_status, pulp.value(problem.objective)


def pulp_scip_py(model, time=None, gap=None):
    """Solve by the solver of PuLP that runs PySCIPOpt."""
    return _pulp(model, layer("pulp").SCIP_PY(msg=False, timeLimit=time, gapRel=gap))


def pulp_scip_cmd(model, time=None, gap=None):
    """Solve by the solver of PuLP that runs a program; it leaves a log and the model where it is called."""
    solver = layer("pulp").SCIP_CMD(
        path=shell(), msg=False, timeLimit=time, gapRel=gap, keepFiles=True, logPath="solve.log"
    )
    return _pulp(model, solver)


def _options(time, gap):
    limits = {"limits/time": time, "limits/gap": gap}
    return {name: value for name, value in limits.items() if value is not None}


def pyomo_scip(model, time=None, gap=None):
    """Solve by the solver of Pyomo that runs a program; it leaves a log and the model where it is called."""
    made = in_pyomo(model)
    import pyomo.environ as pyo
    from pyomo.common.tempfiles import TempfileManager

    TempfileManager.tempdir = str(Path.cwd())
    solver = pyo.SolverFactory("scip", executable=shell())
    solver.options.update(_options(time, gap))
    result = solver.solve(made, logfile="solve.log", keepfiles=True)
    Path("solve.nl").write_bytes(Path(solver._problem_files[0]).read_bytes())
    return _ended(result, made)


def _ended(result, made):
    import pyomo.environ as pyo

    gain = pyo.value(made.gain, exception=False)
    return str(result.solver.status), str(result.solver.termination_condition), gain


def _pyomo(name, model, time, gap):
    made = in_pyomo(model)
    import pyomo.environ as pyo

    solver = pyo.SolverFactory(name)
    if name == "scip_persistent":
        solver.set_instance(made)
    return _ended(solver.solve(made, options=_options(time, gap)), made)


def pyomo_scip_direct(model, time=None, gap=None):
    """Solve by the solver of Pyomo that runs PySCIPOpt."""
    return _pyomo("scip_direct", model, time, gap)


def pyomo_scip_persistent(model, time=None, gap=None):
    """Solve by the solver of Pyomo that keeps its PySCIPOpt model."""
    return _pyomo("scip_persistent", model, time, gap)


def linopy(model, time=None, gap=None):
    """Solve by linopy."""
    linopy = layer("linopy")
    import numpy as np
    import xarray as xr

    made = linopy.Model()
    take = made.add_variables(binary=True, coords=[range(len(model.gains))], name="take")
    for row, capacity in zip(model.weights, model.capacities, strict=True):
        made.add_constraints((xr.DataArray(row, dims="dim_0") * take).sum() <= capacity)
    made.add_objective((xr.DataArray(model.gains, dims="dim_0") * take).sum(), sense="max")
    says = made.solve(solver_name="scip", **_options(time, gap))
    value = made.objective.value
    return *says, None if value is None or np.isnan(value) else value


def cvxpy(model, time=None, gap=None):
    """Solve by CVXPY."""
    cvxpy = layer("cvxpy")
    import numpy as np

    take = cvxpy.Variable(len(model.gains), boolean=True)
    rows = np.array(model.weights) @ take <= np.array(model.capacities)
    problem = cvxpy.Problem(cvxpy.Maximize(np.array(model.gains) @ take), [rows])
    problem.solve(solver=cvxpy.SCIP, scip_params=_options(time, gap))
    return problem.status, problem.value


def ommx(model, time=None, gap=None):
    """Solve by ommx's adapter."""
    layer("ommx_pyscipopt_adapter")
    from ommx.v1 import DecisionVariable, Instance
    from ommx_pyscipopt_adapter import OMMXPySCIPOptAdapter

    x = [DecisionVariable.binary(item) for item in range(len(model.gains))]
    rows = [
        (sum(weight * take for weight, take in zip(row, x, strict=True)) <= capacity).set_id(number)
        for number, (row, capacity) in enumerate(zip(model.weights, model.capacities, strict=True))
    ]
    made = Instance.from_components(
        decision_variables=x,
        objective=sum(gain * take for gain, take in zip(model.gains, x, strict=True)),
        constraints=rows,
        sense=Instance.MAXIMIZE,
    )
    adapter = OMMXPySCIPOptAdapter(made)
    adapter.solver_input.setParams(_options(time, gap))
    adapter.solver_input.optimize()
    solution = adapter.decode(adapter.solver_input)
    return "optimal" if solution.optimality == solution.OPTIMAL else "unspecified", solution.objective


def pypsa(hours=12, units=4):
    """Commit units to a demand by PyPSA, which solves through linopy; return what it says."""
    pypsa = layer("pypsa")
    generator, network = random.Random(5), pypsa.Network()
    network.set_snapshots(range(hours))
    network.add("Bus", "bus")
    for unit in range(units):
        network.add(
            "Generator",
            f"unit{unit}",
            bus="bus",
            committable=True,
            p_nom=generator.randint(60, 160),
            p_min_pu=0.5,  # a power of two: files keep it to the bit
            marginal_cost=generator.randint(20, 30),
            start_up_cost=generator.randint(1000, 2000),
            min_up_time=generator.randint(2, 5),
            min_down_time=generator.randint(2, 4),
            up_time_before=0,
        )
    network.add("Generator", "shed", bus="bus", p_nom=1000, marginal_cost=500)
    network.add("Load", "load", bus="bus", p_set=[generator.randint(150, 420) for _ in range(hours)])
    return network.optimize(solver_name="scip")
