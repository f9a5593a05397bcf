#!/usr/bin/env bash
# The objective of a model that is maximised, set again without a sense, as x from 0 to 5, then 2 x: one would expect 10.
# Seen with PySCIPOpt 6.3.0 (SCIP 10.0), linopy 0.10.1, Gurobi 13.0.3, PuLP 3.3.2, HiGHS 1.16.0 and OR-Tools 9.15 (MathOpt):
# PySCIPOpt and linopy minimise from then on, without a word, and find 0; PySCIPOpt also where `setMaximize` came before
# the only objective. All others still maximise.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 linopy==0.10.1 gurobipy==13.0.3 pulp==3.3.2 highspy==1.16.0 ortools==9.15.6755

cat > seen.py <<'PY'
import gurobipy
import highspy
import linopy
import pulp
import pyscipopt
from ortools.math_opt.python import mathopt


def scip():
    model = pyscipopt.Model()
    model.hideOutput()
    x = model.addVar(ub=5)
    model.setObjective(x, "maximize")
    model.setObjective(2 * x)
    model.optimize()
    return model.getObjVal()


def scip_set_maximize():
    model = pyscipopt.Model()
    model.hideOutput()
    x = model.addVar(ub=5)
    model.setMaximize()
    model.setObjective(2 * x)
    model.optimize()
    return model.getObjVal()


def by_linopy():
    model = linopy.Model()
    x = model.add_variables(0, 5, name="x")
    model.add_constraints(x <= 5)
    model.add_objective(1 * x, sense="max")
    model.add_objective(2 * x, overwrite=True)
    model.solve(solver_name="highs", output_flag=False)
    return model.objective.value


def gurobi():
    model = gurobipy.Model(env=gurobipy.Env(params={"OutputFlag": 0}))
    x = model.addVar(ub=5)
    model.setObjective(x, gurobipy.GRB.MAXIMIZE)
    model.setObjective(2 * x)
    model.optimize()
    return model.ObjVal


def by_pulp():
    problem, x = pulp.LpProblem("own", pulp.LpMaximize), pulp.LpVariable("x", 0, 5)
    problem += x
    problem += 2 * x
    problem.solve(pulp.HiGHS(msg=False))
    return pulp.value(problem.objective)


def highs():
    solver = highspy.Highs()
    solver.silent()
    x = solver.addVariable(0, 5)
    solver.maximize(x)
    solver.changeColCost(0, 2.0)
    solver.run()
    return solver.getObjectiveValue()


def by_mathopt():
    model = mathopt.Model()
    x = model.add_variable(lb=0, ub=5)
    model.maximize(x)
    model.objective.set_linear_coefficient(x, 2)
    return mathopt.solve(model, mathopt.SolverType.GLOP).objective_value()


for solved in (scip, scip_set_maximize, by_linopy, gurobi, by_pulp, highs, by_mathopt):
    print(f"{solved.__name__}: optimum {solved():g}")
PY
venv/bin/python seen.py 2> errors.txt | grep ': optimum ' | tee seen.txt
diff seen.txt - <<'SEEN'
scip: optimum 0
scip_set_maximize: optimum 0
by_linopy: optimum 0
gurobi: optimum 10
by_pulp: optimum 10
highs: optimum 10
by_mathopt: optimum 10
SEEN
