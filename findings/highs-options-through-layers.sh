#!/usr/bin/env bash
# An option of HiGHS with a misspelt name, or a whole number as 1.0, given through modelling layers: one would expect an
# error, as of CVXPY. Seen with HiGHS 1.16.0, linopy 0.10.1, PuLP 3.3.2, Pyomo 6.10.1 and CVXPY 1.9.3: linopy, PuLP and Pyomo
# solve without it, and report an optimum as if it held, since HiGHS answers kError and raises nothing. Of the limit itself
# linopy says "ok", and PuLP raises KeyError.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check highspy==1.16.0 linopy==0.10.1 pulp==3.3.2 pyomo==6.10.1 cvxpy==1.9.3

cat > seen.py <<'PY'
import logging

import cvxpy
import highspy
import linopy
import numpy
import pulp
import pyomo.environ as pyo

draw = numpy.random.default_rng(3)
ROWS, COSTS = draw.integers(5, 61, (10, 60)).astype(float), draw.integers(5, 61, 60).astype(float)


def by_linopy(options):
    model = linopy.Model()
    x = model.add_variables(binary=True, coords=[range(60)], name="x")
    for row in ROWS:
        model.add_constraints((row * x).sum() <= 600)
    model.add_objective((COSTS * x).sum(), sense="max")
    return " ".join(model.solve(solver_name="highs", output_flag=False, **options))


def by_pulp(options):
    problem, x = pulp.LpProblem("own", pulp.LpMaximize), [pulp.LpVariable(f"x{k}", cat="Binary") for k in range(60)]
    problem += pulp.lpDot(COSTS.tolist(), x)
    for row in ROWS:
        problem += pulp.lpDot(row.tolist(), x) <= 600
    problem.solve(pulp.HiGHS(msg=False, **options))
    return pulp.LpStatus[problem.status]


def by_pyomo(options):
    model = pyo.ConcreteModel()
    model.x, model.rows = pyo.Var(range(60), domain=pyo.Binary), pyo.ConstraintList()
    for row in ROWS:
        model.rows.add(sum(row[k] * model.x[k] for k in range(60)) <= 600)
    model.objective = pyo.Objective(expr=sum(COSTS[k] * model.x[k] for k in range(60)), sense=pyo.maximize)
    return pyo.SolverFactory("highs").solve(model, options=options).solver.termination_condition


def by_cvxpy(options):
    x = cvxpy.Variable(60, boolean=True)
    problem = cvxpy.Problem(cvxpy.Maximize(COSTS @ x), [ROWS @ x <= 600])
    problem.solve(solver=cvxpy.HIGHS, **options)
    return problem.status


logging.disable(logging.CRITICAL)
print("HiGHS", highspy.Highs().version())
for solved in (by_linopy, by_pulp, by_pyomo, by_cvxpy):
    for options in ({"mip_max_nodes": 1}, {"mip_max_nodes": 1.0}, {"mip_max_node": 1}):
        try:
            answer = solved(options)
        except Exception as error:
            answer = f"raises {type(error).__name__}"
        print(f"{solved.__name__}, {options}: {answer}")
PY
venv/bin/python seen.py 2> errors.txt | grep -e '^HiGHS' -e "'mip_max" | grep -v '^ERROR' | tee seen.txt
diff seen.txt - <<'SEEN'
HiGHS 1.16.0
by_linopy, {'mip_max_nodes': 1}: ok terminated_by_limit
by_linopy, {'mip_max_nodes': 1.0}: ok optimal
by_linopy, {'mip_max_node': 1}: ok optimal
by_pulp, {'mip_max_nodes': 1}: raises KeyError
by_pulp, {'mip_max_nodes': 1.0}: Optimal
by_pulp, {'mip_max_node': 1}: Optimal
by_pyomo, {'mip_max_nodes': 1}: maxIterations
by_pyomo, {'mip_max_nodes': 1.0}: optimal
by_pyomo, {'mip_max_node': 1}: optimal
by_cvxpy, {'mip_max_nodes': 1}: user_limit
by_cvxpy, {'mip_max_nodes': 1.0}: raises ValueError
by_cvxpy, {'mip_max_node': 1}: raises ValueError
SEEN
