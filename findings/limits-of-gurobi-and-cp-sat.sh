#!/usr/bin/env bash
# Limits of a gap, of time and solutions, and models without an optimum, with Gurobi and CP-SAT: one would expect
# statuses that say which. Seen with Gurobi 13.0.3 (gurobipy, whose licence for small models ends in 2027) and OR-Tools
# 9.15: both say OPTIMAL at a gap of 20 %; CP-SAT says FEASIBLE at limits and UNKNOWN without a solution, never why;
# Gurobi does not tell infeasible from unbounded for a model that is infeasible, and says USER_OBJ_LIMIT where a bound
# is good enough.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check gurobipy==13.0.3 ortools==9.15.6755
cat > seen.py <<'PY'
import random

import gurobipy
import ortools
from ortools.sat.python import cp_model


def terms(numbers):
    return " + ".join(f"{number} x{place}" for place, number in enumerate(numbers))


draw = random.Random(3)
rows = [[draw.randint(5, 60) for _ in range(60)] for _ in range(10)]
with open("knapsack.lp", "w") as file:  # its optimum is 936
    file.write(f"Maximize\n obj: {terms([draw.randint(5, 60) for _ in range(60)])}\nSubject To\n")
    file.writelines(f" r{place}: {terms(row)} <= 600\n" for place, row in enumerate(rows))
    file.write("Binaries\n " + " ".join(f"x{place}" for place in range(60)) + "\nEnd\n")
rows = [[draw.randint(0, 99) for _ in range(40)] for _ in range(5)]
with open("split.lp", "w") as file:  # market split, which takes hours
    file.write("Minimize\n obj: " + " + ".join(f"s{place} + t{place}" for place in range(5)) + "\nSubject To\n")
    file.writelines(f" r{place}: {terms(row)} + s{place} - t{place} = {sum(row) // 2}\n" for place, row in enumerate(rows))
    file.write("Binaries\n " + " ".join(f"x{place}" for place in range(40)) + "\nEnd\n")
with open("infeasible.lp", "w") as file:
    file.write("Minimize\n obj: x\nSubject To\n r: 2 x + 2 y = 1\n s: x + y <= 1\nGenerals\n x y\nEnd\n")
with open("unbounded.lp", "w") as file:
    file.write("Maximize\n obj: x\nSubject To\n r: x - y <= 1\nGenerals\n x y\nEnd\n")
with open("neither.lp", "w") as file:  # infeasible, with an unbounded relaxation
    file.write("Maximize\n obj: x + z\nSubject To\n r: x - y <= 1\n s: 2 z + 2 w = 1\nBounds\n w <= 3\n z <= 3\n")
    file.write("Generals\n x y z w\nEnd\n")
CASES = (
    ("knapsack.lp", "gap of 20 %"),
    ("split.lp", "2 seconds"),
    ("split.lp", "1 node"),
    ("split.lp", "1 solution"),
    ("split.lp", "0 seconds"),
    ("infeasible.lp", ""),
    ("unbounded.lp", ""),
    ("neither.lp", ""),
)


NAMES = {getattr(gurobipy.GRB.Status, name): name for name in dir(gurobipy.GRB.Status) if name.isupper()}


def gurobi(path, name=None, value=None):
    model = gurobipy.read(path, gurobipy.Env(params={"OutputFlag": 0}))
    if name:
        model.setParam(name, value)
    model.optimize()
    return NAMES[model.Status]


def cp_sat(path, name=None, value=None):
    """Solve with CP-SAT what Gurobi reads: CP-SAT has no reader of LP files."""
    read, model, solver = gurobipy.read(path, gurobipy.Env(params={"OutputFlag": 0})), cp_model.CpModel(), cp_model.CpSolver()
    variables = {each.VarName: model.new_int_var(0, int(min(each.UB, 99999)), each.VarName) for each in read.getVars()}
    for row in read.getConstrs():
        terms = read.getRow(row)
        left = sum(int(terms.getCoeff(k)) * variables[terms.getVar(k).VarName] for k in range(terms.size()))
        side = int(row.RHS)
        model.add(left <= side if row.Sense == "<" else left == side)
    objective = sum(int(each.Obj) * variables[each.VarName] for each in read.getVars())
    model.maximize(objective) if read.ModelSense < 0 else model.minimize(objective)
    if name:
        setattr(solver.parameters, name, value)
    return solver.status_name(solver.solve(model))


print("Gurobi", *gurobipy.gurobi.version(), "OR-Tools", ortools.__version__)
LIMITS = {
    "gap of 20 %": (("MIPGap", 0.2), ("relative_gap_limit", 0.2)),
    "2 seconds": (("TimeLimit", 2), ("max_time_in_seconds", 2)),
    "1 solution": (("SolutionLimit", 1), ("stop_after_first_solution", True)),
    "0 seconds": (("TimeLimit", 0), ("max_time_in_seconds", 0)),
    "": ((), ()),
}
for path, limit in CASES:
    if limit == "1 node":  # CP-SAT has none
        print(f"{path} {limit}: Gurobi {gurobi(path, 'NodeLimit', 1)}")
        continue
    mine, its = LIMITS[limit]
    known = path != "unbounded.lp" and path != "neither.lp"  # CP-SAT's variables have bounds
    print(f"{path} {limit}: Gurobi {gurobi(path, *mine)}, CP-SAT {cp_sat(path, *its) if known else '-'}".replace(" :", ":"))
print("knapsack.lp, objective 500 is enough: Gurobi", gurobi("knapsack.lp", "BestObjStop", 500))
print("knapsack.lp, nothing beyond 2000: Gurobi", gurobi("knapsack.lp", "Cutoff", 2000))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Restricted license' -e '^Set parameter' -e '^Read LP format' -e '^Reading time' -e '^ *$' -e ': [0-9]* rows, ' | tee seen.txt
diff seen.txt - <<'SEEN'
Gurobi 13 0 3 OR-Tools 9.15.6755
knapsack.lp gap of 20 %: Gurobi OPTIMAL, CP-SAT OPTIMAL
split.lp 2 seconds: Gurobi TIME_LIMIT, CP-SAT FEASIBLE
split.lp 1 node: Gurobi NODE_LIMIT
split.lp 1 solution: Gurobi SOLUTION_LIMIT, CP-SAT FEASIBLE
split.lp 0 seconds: Gurobi TIME_LIMIT, CP-SAT UNKNOWN
infeasible.lp: Gurobi INFEASIBLE, CP-SAT INFEASIBLE
unbounded.lp: Gurobi UNBOUNDED, CP-SAT -
neither.lp: Gurobi INF_OR_UNBD, CP-SAT -
knapsack.lp, objective 500 is enough: Gurobi USER_OBJ_LIMIT
knapsack.lp, nothing beyond 2000: Gurobi CUTOFF
SEEN
