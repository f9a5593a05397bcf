#!/usr/bin/env bash
# Ctrl-C after a second of a solve that may take eight: one would expect KeyboardInterrupt at once, so that a loop over models
# ends. Seen with PySCIPOpt 6.3.0 (SCIP 10.0), HiGHS 1.16.0, Gurobi 13.0.3 and OR-Tools 9.15: SCIP, Gurobi, CP-SAT and
# pywraplp with SCIP return a status and raise nothing, so that a loop goes on with the next model; HiGHS, and pywraplp with
# it, raise it, but only when their limit is reached.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 gurobipy==13.0.3 ortools==9.15.6755

cat > seen.py <<'PY'
import os
import random
import signal
import subprocess
import sys
import time

LIMIT_S = 8
draw = random.Random(3)
rows = [[draw.randint(0, 99) for _ in range(40)] for _ in range(5)]  # market split, which takes hours
signal.signal(signal.SIGINT, signal.default_int_handler)


def scip():
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("split.lp")
    model.setParam("limits/time", LIMIT_S)
    return lambda: model.optimize() or model.getStatus()


def highs():
    import highspy

    solver = highspy.Highs()
    solver.silent()
    solver.readModel("split.lp")
    solver.setOptionValue("time_limit", float(LIMIT_S))
    return lambda: solver.run().name


def gurobi():
    import gurobipy

    model = gurobipy.read("split.lp", gurobipy.Env(params={"OutputFlag": 0, "TimeLimit": LIMIT_S}))
    return lambda: model.optimize() or f"INTERRUPTED {model.Status == gurobipy.GRB.INTERRUPTED}"


def pywraplp(name="SCIP"):
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver(name)
    x, gaps = [solver.BoolVar("") for _ in range(40)], [solver.NumVar(0, 9999, "") for _ in range(10)]
    for place, row in enumerate(rows):
        solver.Add(sum(a * v for a, v in zip(row, x)) + gaps[place] - gaps[place + 5] == sum(row) // 2)
    solver.Minimize(sum(gaps))
    solver.SetTimeLimit(1000 * LIMIT_S)
    return lambda: {solver.FEASIBLE: "FEASIBLE"}.get(solver.Solve(), "another status")


def pywraplp_highs():
    return pywraplp("HIGHS")


def cp_sat():
    return pywraplp("SAT")


with open("split.lp", "w") as file:
    file.write("Minimize\n obj: " + " + ".join(f"s{k} + t{k}" for k in range(5)) + "\nSubject To\n")
    for k, row in enumerate(rows):
        file.write(f" r{k}: {' + '.join(f'{a} x{j}' for j, a in enumerate(row))} + s{k} - t{k} = {sum(row) // 2}\n")
    file.write("Binaries\n " + " ".join(f"x{j}" for j in range(40)) + "\nEnd\n")
solve = globals()[sys.argv[1]]()
subprocess.Popen(["sh", "-c", f"sleep 1; kill -INT {os.getpid()}"])
begin = time.monotonic()
try:
    answer = f"returns {solve()}"
except KeyboardInterrupt:
    answer = "KeyboardInterrupt"
print(f"Ctrl-C in {sys.argv[1]}: {answer}", "at once" if time.monotonic() - begin < LIMIT_S / 2 else "at the limit")
PY
for solver in scip highs gurobi pywraplp cp_sat pywraplp_highs; do
  venv/bin/python seen.py "$solver" 2>> errors.txt | grep '^Ctrl-C'
done | tee seen.txt
diff seen.txt - <<'SEEN'
Ctrl-C in scip: returns userinterrupt at once
Ctrl-C in highs: KeyboardInterrupt at the limit
Ctrl-C in gurobi: returns INTERRUPTED True at once
Ctrl-C in pywraplp: returns FEASIBLE at once
Ctrl-C in cp_sat: returns FEASIBLE at once
Ctrl-C in pywraplp_highs: KeyboardInterrupt at the limit
SEEN
