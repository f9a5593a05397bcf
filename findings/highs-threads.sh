#!/usr/bin/env bash
# Two models solved by HiGHS in one process, the first with threads=1, the second with threads=2: one would expect that both
# are solved. Seen with HiGHS 1.16.0, PuLP 3.3.2, CVXPY 1.9.3, Pyomo 6.10.1 and linopy 0.10.1: `run()` of the second returns
# kError, and solves nothing, since all of a process share one scheduler. PuLP calls the model "Not Solved", Pyomo says that
# nothing feasible is there, CVXPY raises; linopy alone solves. `resetGlobalScheduler` is what helps.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check highspy==1.16.0 pulp==3.3.2 cvxpy==1.9.3 pyomo==6.10.1 linopy==0.10.1

cat > seen.py <<'PY'
import logging
import sys

import cvxpy
import highspy
import linopy
import pulp
import pyomo.environ as pyo


def highs(threads):
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", threads)
    x = solver.addIntegral(0, 5)
    solver.addConstr(2 * x <= 7)
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    solver.changeColCost(0, 1.0)
    return f"{solver.run().name}, {solver.modelStatusToString(solver.getModelStatus())}"


def by_pulp(threads):
    problem, x = pulp.LpProblem("own", pulp.LpMaximize), pulp.LpVariable("x", 0, 5, cat="Integer")
    problem += x
    problem += 2 * x <= 7
    problem.solve(pulp.HiGHS(msg=False, threads=threads))
    return pulp.LpStatus[problem.status]


def by_cvxpy(threads):
    x = cvxpy.Variable(integer=True)
    problem = cvxpy.Problem(cvxpy.Maximize(x), [2 * x <= 7])
    problem.solve(solver=cvxpy.HIGHS, threads=threads)
    return problem.status


def by_pyomo(threads):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.row = pyo.Constraint(expr=2 * model.x <= 7)
    model.objective = pyo.Objective(expr=model.x, sense=pyo.maximize)
    return pyo.SolverFactory("highs").solve(model, options={"threads": threads}).solver.termination_condition


def by_linopy(threads):
    model = linopy.Model()
    x = model.add_variables(0, 5, integer=True, name="x")
    model.add_constraints(2 * x <= 7)
    model.add_objective(1 * x, sense="max")
    return " ".join(model.solve(solver_name="highs", output_flag=False, threads=threads))


logging.disable(logging.CRITICAL)
solved = globals()[sys.argv[1]]
for threads in (1, 2, 1):
    if "reset" in sys.argv:
        highspy.Highs.resetGlobalScheduler(True)
    try:
        answer = solved(threads)
    except Exception as error:
        answer = f"raises {type(error).__name__}"
    print(f"{' after '.join(sys.argv[1:])}, threads {threads}: {answer}")
PY
for layer in highs "highs reset" by_pulp by_cvxpy by_pyomo by_linopy; do
  venv/bin/python seen.py $layer 2>> errors.txt | grep ', threads ' | grep -v '^ERROR'
done | tee seen.txt
diff seen.txt - <<'SEEN'
highs, threads 1: kOk, Optimal
highs, threads 2: kError, Not Set
highs, threads 1: kOk, Optimal
highs after reset, threads 1: kOk, Optimal
highs after reset, threads 2: kOk, Optimal
highs after reset, threads 1: kOk, Optimal
by_pulp, threads 1: Optimal
by_pulp, threads 2: Not Solved
by_pulp, threads 1: Optimal
by_cvxpy, threads 1: optimal
by_cvxpy, threads 2: raises SolverError
by_cvxpy, threads 1: optimal
by_pyomo, threads 1: optimal
by_pyomo, threads 2: raises NoFeasibleSolutionError
by_pyomo, threads 1: optimal
by_linopy, threads 1: ok optimal
by_linopy, threads 2: ok optimal
by_linopy, threads 1: ok optimal
SEEN
