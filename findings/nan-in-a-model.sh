#!/usr/bin/env bash
# NaN for a coefficient, as pandas has where a number is missing: one would expect an error, as of PuLP and CVXPY. Seen with
# PySCIPOpt 6.3.0 (SCIP 10.0), SciPy 1.17.1, HiGHS 1.16.0, Pyomo 6.10.1, PuLP 3.3.2 and CVXPY 1.9.3: for PySCIPOpt, SciPy
# and Pyomo's .lp and .nl, where it is written as `nan`, the row counts for nothing: "optimal", at 8.5 for 4. HiGHS says
# "Unknown", with values.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 scipy==1.17.1 highspy==1.16.0 pyomo==6.10.1 pulp==3.3.2 cvxpy==1.9.3

cat > seen.py <<'PY'
import cvxpy
import highspy
import numpy
import pulp
import pyomo.environ as pyo
import pyscipopt
from scipy.optimize import LinearConstraint, milp


def scip(a, file=None):
    model = pyscipopt.Model()
    model.hideOutput()
    if file:
        model.readProblem(file)
    else:
        x, y = model.addVar(ub=5), model.addVar(ub=5)
        model.addCons(a * x + y <= 4)
        model.addCons(x + 2 * y <= 12)
        model.setObjective(x + y, "maximize")
    model.optimize()
    return model.getStatus(), model.getObjVal()


def by_scipy(a):
    result = milp([-1, -1], bounds=(0, 5), constraints=LinearConstraint([[a, 1], [1, 2]], -numpy.inf, [4, 12]))
    return f"status {result.status}", -result.fun


def highs(a):
    solver = highspy.Highs()
    solver.silent()
    x, y = solver.addVariable(0, 5), solver.addVariable(0, 5)
    solver.addConstr(a * x + y <= 4)
    solver.addConstr(x + 2 * y <= 12)
    solver.maximize(x + y)
    return solver.modelStatusToString(solver.getModelStatus()), sum(solver.getSolution().col_value)


def by_pyomo(a, kind="lp"):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 5)), pyo.Var(bounds=(0, 5))
    model.row = pyo.Constraint(expr=a * model.x + model.y <= 4)
    model.other = pyo.Constraint(expr=model.x + 2 * model.y <= 12)
    model.objective = pyo.Objective(expr=model.x + model.y, sense=pyo.maximize)
    model.write(f"own.{kind}")
    return scip(a, f"own.{kind}")


def by_pyomo_nl(a):
    return by_pyomo(a, "nl")


def by_pulp(a):
    problem, x, y = pulp.LpProblem("own", pulp.LpMaximize), pulp.LpVariable("x", 0, 5), pulp.LpVariable("y", 0, 5)
    problem += x + y
    problem += a * x + y <= 4
    problem.solve(pulp.HiGHS(msg=False))
    return pulp.LpStatus[problem.status], pulp.value(problem.objective)


def by_cvxpy(a):
    x = cvxpy.Variable(2, nonneg=True)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(x)), [a * x[0] + x[1] <= 4, x <= 5])
    problem.solve(solver=cvxpy.HIGHS)
    return problem.status, problem.value


for solved in (scip, by_scipy, highs, by_pyomo, by_pyomo_nl, by_pulp, by_cvxpy):
    for a in (1.0, float("nan")):
        try:
            print(f"{solved.__name__}, {a:g} x + y <= 4: {{}}, largest x + y {{:g}}".format(*solved(a)))
        except Exception as error:
            print(f"{solved.__name__}, {a:g} x + y <= 4: {type(error).__name__}")
PY
venv/bin/python seen.py 2> errors.txt | grep ' x + y <= 4: ' | tee seen.txt
diff seen.txt - <<'SEEN'
scip, 1 x + y <= 4: optimal, largest x + y 4
scip, nan x + y <= 4: optimal, largest x + y 8.5
by_scipy, 1 x + y <= 4: status 0, largest x + y 4
by_scipy, nan x + y <= 4: status 0, largest x + y 8.5
highs, 1 x + y <= 4: Optimal, largest x + y 4
highs, nan x + y <= 4: Unknown, largest x + y 5
by_pyomo, 1 x + y <= 4: optimal, largest x + y 4
by_pyomo, nan x + y <= 4: optimal, largest x + y 8.5
by_pyomo_nl, 1 x + y <= 4: optimal, largest x + y 4
by_pyomo_nl, nan x + y <= 4: optimal, largest x + y 8.5
by_pulp, 1 x + y <= 4: Optimal, largest x + y 4
by_pulp, nan x + y <= 4: PulpError
by_cvxpy, 1 x + y <= 4: optimal, largest x + y 4
by_cvxpy, nan x + y <= 4: ValueError
SEEN
