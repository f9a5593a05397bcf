#!/usr/bin/env bash
# A power is the sum of three steps, and ramps tie it to the hours around it: rows imply its bounds, so that presolving can
# put the sum in its place. One would expect solvers to do so. Seen with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and
# Gurobi 13.0.3: HiGHS takes out all 24 powers of 96 columns, Gurobi 5 columns, SCIP none. SCIP's presolver that would, milp
# (PaPILO), is not in the wheel: to set its parameter, as settings files of another SCIP do, is an error.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 gurobipy==13.0.3
cat > seen.py <<'PY'
import random

import gurobipy
import highspy
import pyscipopt

draw, hours = random.Random(3), range(24)
model = pyscipopt.Model()
model.hideOutput()
power, on, steps = [], [], []
for t in hours:
    power.append(model.addVar(f"p{t}", ub=90))
    on.append(model.addVar(f"u{t}", "B", obj=draw.randint(60, 90)))
    steps.append([model.addVar(f"s{t}_{k}", ub=30, obj=2 + k * draw.uniform(1, 3)) for k in range(3)])
    model.addCons(power[t] - pyscipopt.quicksum(steps[t]) == 0)
    model.addCons(pyscipopt.quicksum(steps[t]) <= 83 * on[t])
    model.addCons(power[t] + 7 * on[t] >= draw.randint(5, 40))
    if t:
        model.addCons(power[t] - power[t - 1] + 3 * on[t] <= 19)
        model.addCons(power[t - 1] - power[t] + 2 * on[t - 1] <= 17)
        model.addCons(power[t] + power[t - 1] + 5 * on[t] >= draw.randint(20, 50))
model.writeProblem("steps.lp", verbose=False)

highs = highspy.Highs()
highs.silent()
highs.readModel("steps.lp")
highs.presolve()
lp = highs.getPresolvedLp()
print(f"HiGHS leaves {lp.num_col_} columns and {lp.num_row_} rows")
gurobi = gurobipy.read("steps.lp", gurobipy.Env(params={"OutputFlag": 0})).presolve()
print(f"Gurobi leaves {gurobi.NumVars} columns and {gurobi.NumConstrs} rows")
model.presolve()
print(f"SCIP leaves {len(model.getVars(transformed=True))} columns and {model.getNConss()} rows")
try:
    model.setParam("presolving/milp/maxrounds", 0)
except KeyError as error:
    print("presolving/milp/maxrounds:", type(error).__name__)
PY
venv/bin/python seen.py 2> errors.txt | grep -E 'leaves|milp' | tee seen.txt
diff seen.txt - <<'SEEN'
HiGHS leaves 72 columns and 57 rows
Gurobi leaves 91 columns and 73 rows
SCIP leaves 96 columns and 74 rows
presolving/milp/maxrounds: KeyError
SEEN
