#!/usr/bin/env bash
# An optimum of a model of integers only, with integer coefficients: one would expect that it satisfies every row.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: SCIP takes a row as met to within a millionth of its side, so
# that beyond a side of a million integers themselves may miss it. Below, t - 3 x <= 5000001 is missed by 5 in a solution
# that is "optimal"; with numerics/feastol = 1e-9, or in HiGHS, the optimum is the true one.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > own.lp <<'LP'
Maximize
 obj: t
Subject To
 r: t - 3 x <= 5000001
Bounds
 5000000 <= t <= 5000009
Generals
 t
Binaries
 x
End
LP
cat > seen.py <<'PY'
import highspy
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for tolerance in (1e-6, 1e-9):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.lp")
    model.setParam("numerics/feastol", tolerance)
    model.optimize()
    t, x = (next(model.getVal(one) for one in model.getVars() if one.name == name) for name in "tx")
    print(f"SCIP, feastol {tolerance:g}: {model.getStatus()}, t {t:.0f}, x {x:.0f}, row {t - 3 * x:.0f} <= 5000001")
solver = highspy.Highs()
solver.silent()
solver.readModel("own.lp")
solver.run()
print(f"HiGHS: t {solver.getObjectiveValue():.0f}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
SCIP, feastol 1e-06: optimal, t 5000009, x 1, row 5000006 <= 5000001
SCIP, feastol 1e-09: optimal, t 5000004, x 1, row 5000001 <= 5000001
HiGHS: t 5000004
SEEN
