#!/usr/bin/env bash
# A limit of the objective that is the optimum itself, 14 of a minimum: one would expect the optimum. Seen with SCIP 10.0
# (PySCIPOpt 6.3.0), HiGHS 1.16.0, Gurobi 13.0.3 and CBC of cbcbox 2.935: SCIP and CBC call the model infeasible, and SCIP
# has a solution of 15 all the same, beyond the limit, which `getObjVal` returns. Gurobi finds 14. HiGHS' objective_bound
# limits nothing: with 13 it finds 14.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 gurobipy==13.0.3
cat > seen.py <<'PY'
import subprocess

import cbcbox
import gurobipy
import highspy
import pyscipopt

with open("own.lp", "w") as file:
    file.write("Minimize\n obj: 3 x + 4 y + 5 z\nSubject To\n r: 2 x + 3 y + 4 z >= 11\n s: x + y + z <= 4\nGenerals\n x y z\nEnd\n")
for limit in (13, 14, 14.5):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.lp")
    model.setObjlimit(limit)
    model.optimize()
    solver = highspy.Highs()
    solver.silent()
    solver.readModel("own.lp")
    solver.setOptionValue("objective_bound", float(limit))
    solver.run()
    other = gurobipy.read("own.lp", gurobipy.Env(params={"OutputFlag": 0}))
    other.setParam("Cutoff", limit)
    other.optimize()
    subprocess.run([cbcbox.cbc_bin_path(), "own.lp", "-cutoff", str(limit), "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        words = file.readline().split(" - ")[0]
    status = solver.modelStatusToString(solver.getModelStatus())
    print(f"limit {limit}: SCIP {model.getStatus()} {model.getObjVal():g}, HiGHS {status} {solver.getObjectiveValue():g},", end=" ")
    print(f"Gurobi {f'{other.ObjVal:g}' if other.SolCount else 'cutoff'}, CBC {words}")
PY
venv/bin/python seen.py 2> errors.txt | grep '^limit' | tee seen.txt
diff seen.txt - <<'SEEN'
limit 13: SCIP infeasible 15, HiGHS Optimal 14, Gurobi cutoff, CBC Infeasible
limit 14: SCIP infeasible 15, HiGHS Optimal 14, Gurobi 14, CBC Integer infeasible
limit 14.5: SCIP optimal 14, HiGHS Optimal 14, Gurobi 14, CBC Optimal
SEEN
