#!/usr/bin/env bash
# A pseudo-Boolean row with a product of three literals: one would expect the optimum that trying all eight points gives.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): "optimal -6" at a point that misses the row by 1; the true optimum is -5, which
# SCIP finds without presolving. Its own check of the solution against the original problem (checkSol) says False, but
# nobody asks it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > own.opb <<'OPB'
* #variable= 3 #constraint= 1 #product= 1 sizeproduct= 3
min: -1 x0 -2 x1 -3 x2 ;
-1 x0 -1 x1 -1 x2 -1 x2 x1 x0 >= -3 ;
OPB
cat > seen.py <<'PY'
from itertools import product

import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
points = ((a, b, c) for a, b, c in product((0, 1), repeat=3) if -a - b - c - a * b * c >= -3)
print("all points:", min(-a - 2 * b - 3 * c for a, b, c in points))
for rounds in (-1, 0):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.opb")
    model.setParam("presolving/maxrounds", rounds)
    model.optimize()
    checked = model.checkSol(model.getBestSol(), printreason=False, original=True)
    print(f"presolving/maxrounds {rounds}: {model.getStatus()} {model.getObjVal():g}, checkSol {checked}")
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
all points: -5
presolving/maxrounds -1: optimal -6, checkSol False
presolving/maxrounds 0: optimal -5, checkSol True
SEEN
