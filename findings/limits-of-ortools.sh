#!/usr/bin/env bash
# A gap limit of 20 % by OR-Tools: one would expect that the status says whether the optimum is proven. Seen with
# OR-Tools 9.15: MathOpt's termination is OPTIMAL with SCIP and HiGHS, at bounds that are 12 % apart, and SCIP's own
# status, gaplimit, is lost; MPSolver says OPTIMAL with SCIP. At a limit of nodes MathOpt says FEASIBLE, limit NODE.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check ortools==9.15.6755
cat > seen.py <<'PY'
import random

import ortools
from ortools.linear_solver import pywraplp
from ortools.math_opt.python import mathopt

draw = random.Random(3)
ROWS = [[draw.randint(5, 60) for _ in range(60)] for _ in range(10)]
COSTS = [draw.randint(5, 60) for _ in range(60)]


def by_mathopt(solver, **limits):
    model = mathopt.Model()
    variables = [model.add_binary_variable() for _ in COSTS]
    for row in ROWS:
        model.add_linear_constraint(sum(map(lambda a, x: a * x, row, variables)) <= 600)
    model.maximize(sum(map(lambda c, x: c * x, COSTS, variables)))
    found = mathopt.solve(model, solver, params=mathopt.SolveParameters(**limits)).termination
    bounds = found.objective_bounds
    proven = bounds.dual_bound - bounds.primal_bound < 1
    return f"{found.reason.name}, limit {found.limit and found.limit.name}, proven {proven}"


def by_mpsolver(gap):
    solver, limits = pywraplp.Solver.CreateSolver("SCIP"), pywraplp.MPSolverParameters()
    variables = [solver.BoolVar(f"x{place}") for place in range(len(COSTS))]
    for row in ROWS:
        solver.Add(sum(map(lambda a, x: a * x, row, variables)) <= 600)
    solver.Maximize(sum(map(lambda c, x: c * x, COSTS, variables)))
    limits.SetDoubleParam(limits.RELATIVE_MIP_GAP, gap)
    status = solver.Solve(limits)
    proven = solver.Objective().BestBound() - solver.Objective().Value() < 1
    return f"{'OPTIMAL' if status == solver.OPTIMAL else status}, proven {proven}"


print("OR-Tools", ortools.__version__)
for solver in (mathopt.SolverType.GSCIP, mathopt.SolverType.HIGHS):
    print(f"MathOpt, {solver.name}, gap of 20 %: {by_mathopt(solver, relative_gap_tolerance=0.2)}")
    print(f"MathOpt, {solver.name}, 1 node: {by_mathopt(solver, node_limit=1)}")
print("MPSolver, SCIP, gap of 20 %:", by_mpsolver(0.2))
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
OR-Tools 9.15.6755
MathOpt, GSCIP, gap of 20 %: OPTIMAL, limit None, proven False
MathOpt, GSCIP, 1 node: FEASIBLE, limit NODE, proven False
MathOpt, HIGHS, gap of 20 %: OPTIMAL, limit None, proven False
MathOpt, HIGHS, 1 node: FEASIBLE, limit NODE, proven False
MPSolver, SCIP, gap of 20 %: OPTIMAL, proven False
SEEN
