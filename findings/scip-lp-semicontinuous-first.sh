#!/usr/bin/env bash
# A semi-continuous variable in an LP file, declared before or after its bounds: one would expect 0 or from 2 to 10.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: where Bounds come after Semi-continuous, SCIP makes 2 a plain
# lower bound and loses the 0. HiGHS reads both orders alike.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt

BOUNDS, DECLARED = "Bounds\n y <= 5\n 2 <= x <= 10\n", "Semi-continuous\n x\n"
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for order, sections in (("Bounds first", BOUNDS + DECLARED), ("Semi-continuous first", DECLARED + BOUNDS)):
    with open("own.lp", "w") as file:
        file.write(f"Minimize\n obj: x\nSubject To\n r: x + y >= 1\n{sections}End\n")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.lp")
    model.optimize()
    solver = highspy.Highs()
    solver.silent()
    solver.readModel("own.lp")
    solver.run()
    print(f"{order}: SCIP {model.getObjVal():g}, HiGHS {solver.getObjectiveValue():g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
Bounds first: SCIP 0, HiGHS 0
Semi-continuous first: SCIP 2, HiGHS 0
SEEN
