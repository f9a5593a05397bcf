#!/usr/bin/env bash
# A row with two sides, `1 <= x + y <= 5`, given to modelling layers: one would expect both sides or an error. Seen with
# highspy 1.16.0, PuLP 3.3.2, linopy 0.10.1 and OR-Tools 9.15: PuLP, linopy and pywraplp keep the second side alone, without
# a word. highspy keeps both, since it remembers a comparison that was asked for its truth: so it adds the side of an `if`
# that came before, and of another row, to the next row.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check highspy==1.16.0 pulp==3.3.2 linopy==0.10.1 ortools==9.15.6755
cat > seen.py <<'PY'
import highspy
import linopy
import pulp
from ortools.linear_solver import pywraplp


def sides(add):
    solver = highspy.Highs()
    solver.silent()
    x, y = solver.addVariable(0, 9), solver.addVariable(0, 9)
    add(solver, x, y)
    rows = solver.getLp()
    return [*zip(rows.row_lower_, rows.row_upper_)]


def after_if(solver, x, y):
    if 1 <= x + y:
        solver.addConstr(x + y <= 5)


problem, x, y = pulp.LpProblem("own"), pulp.LpVariable("x", 0, 9), pulp.LpVariable("y", 0, 9)
problem += x + y
problem += 1 <= x + y <= 5
problem.solve(pulp.PULP_CBC_CMD(msg=False))
print("PuLP: smallest x + y", pulp.value(problem.objective))
model = linopy.Model()
x, y = (model.add_variables(0, 9, name=name) for name in "xy")
row = model.add_constraints(1 <= x + y <= 5)
print("linopy:", row.sign.item(), row.rhs.item())
solver = pywraplp.Solver.CreateSolver("SCIP")
x, y = solver.NumVar(0, 9, "x"), solver.NumVar(0, 9, "y")
row = solver.Add(1 <= x + y <= 5)
print("pywraplp:", row.lb(), row.ub())
print("highspy:", sides(lambda solver, x, y: solver.addConstr(1 <= x + y <= 5)))
print("highspy, x + y <= 5 alone:", sides(lambda solver, x, y: solver.addConstr(x + y <= 5)))
print("highspy, x + y <= 5 after an if:", sides(after_if))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
PuLP: smallest x + y 0.0
linopy: <= 5.0
pywraplp: -inf 5.0
highspy: [(1.0, 5.0)]
highspy, x + y <= 5 alone: [(-inf, 5.0)]
highspy, x + y <= 5 after an if: [(1.0, 5.0)]
SEEN
