#!/usr/bin/env bash
# The dual value of a row of an LP that is maximised, 3 for each unit of its side: one would expect one sign of all, as of
# HiGHS, CBC, GLOP, Gurobi and CVXPY. Seen with PySCIPOpt 6.3.0 (SCIP 10.0), HiGHS 1.16.0, PuLP 3.3.2, OR-Tools 9.15 and
# CVXPY 1.9.3: PySCIPOpt's `getDualsolLinear`, and PuLP if HiGHS solves, say -3. Minimised as -3 x - 2 y all say -3, but
# CVXPY's is never negative.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 pulp==3.3.2 ortools==9.15.6755 cvxpy==1.9.3
cat > seen.py <<'PY'
import cvxpy
import highspy
import pulp
import pyscipopt
from ortools.linear_solver import pywraplp


def scip(sign):
    model = pyscipopt.Model()
    model.hideOutput()
    model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.disablePropagation()
    x, y = model.addVar(), model.addVar()
    row = model.addCons(x + y <= 4)
    model.addCons(x + 3 * y <= 6)
    model.setObjective(sign * (3 * x + 2 * y), "maximize" if sign > 0 else "minimize")
    model.optimize()
    return model.getDualsolLinear(row)


def highs(sign):
    solver = highspy.Highs()
    solver.silent()
    x, y = solver.addVariable(), solver.addVariable()
    solver.addConstr(x + y <= 4)
    solver.addConstr(x + 3 * y <= 6)
    (solver.maximize if sign > 0 else solver.minimize)(3 * sign * x + 2 * sign * y)
    return solver.getSolution().row_dual[0]


def by_pulp(solver):
    def dual(sign):
        problem = pulp.LpProblem("own", pulp.LpMaximize if sign > 0 else pulp.LpMinimize)
        x, y = pulp.LpVariable("x", 0), pulp.LpVariable("y", 0)
        problem += 3 * sign * x + 2 * sign * y
        problem += x + y <= 4, "row"
        problem += x + 3 * y <= 6, "other"
        problem.solve(solver)
        return problem.constraints["row"].pi

    return dual


def glop(sign):
    solver = pywraplp.Solver.CreateSolver("GLOP")
    x, y = solver.NumVar(0, 99, "x"), solver.NumVar(0, 99, "y")
    row = solver.Add(x + y <= 4)
    solver.Add(x + 3 * y <= 6)
    (solver.Maximize if sign > 0 else solver.Minimize)(sign * (3 * x + 2 * y))
    solver.Solve()
    return row.dual_value()


def by_cvxpy(sign):
    x = cvxpy.Variable(2, nonneg=True)
    row, cost = x[0] + x[1] <= 4, sign * (3 * x[0] + 2 * x[1])
    objective = cvxpy.Maximize(cost) if sign > 0 else cvxpy.Minimize(cost)
    cvxpy.Problem(objective, [row, x[0] + 3 * x[1] <= 6]).solve(solver=cvxpy.HIGHS)
    return float(row.dual_value)


for name, dual in (
    ("PySCIPOpt", scip),
    ("HiGHS", highs),
    ("PuLP with CBC", by_pulp(pulp.PULP_CBC_CMD(msg=False))),
    ("PuLP with HiGHS", by_pulp(pulp.HiGHS(msg=False))),
    ("GLOP", glop),
    ("CVXPY", by_cvxpy),
):
    print(f"{name}: maximised {dual(1):+.4g}, minimised {dual(-1):+.4g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
PySCIPOpt: maximised -3, minimised -3
HiGHS: maximised +3, minimised -3
PuLP with CBC: maximised +3, minimised -3
PuLP with HiGHS: maximised -3, minimised -3
GLOP: maximised +3, minimised -3
CVXPY: maximised +3, minimised +3
SEEN
