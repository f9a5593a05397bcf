#!/usr/bin/env bash
# OBJSENSE of an MPS file with its value on the same line or on the next one, MAX or MAXIMIZE: one would expect the same.
# Seen with HiGHS 1.16.0 and SCIP 10.0 (PySCIPOpt 6.3.0): HiGHS minimises, without a word, for MAXIMIZE on the same line
# alone; SCIP maximises for all four.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for value in ("MAX", "MAXIMIZE"):
    for where, begin in (("on the next line", "\n "), ("on the same line", " ")):
        with open("own.mps", "w") as file:
            file.write(f"NAME own\nOBJSENSE{begin}{value}\nROWS\n N obj\n L row\nCOLUMNS\n x obj 1 row 1\nRHS\n rhs row 7\nENDATA\n")
        model = pyscipopt.Model()
        model.hideOutput()
        model.readProblem("own.mps")
        model.optimize()
        solver = highspy.Highs()
        solver.silent()
        solver.readModel("own.mps")
        solver.run()
        print(f"{value} {where}: SCIP {model.getObjVal():g}, HiGHS {solver.getObjectiveValue():g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
MAX on the next line: SCIP 7, HiGHS 7
MAX on the same line: SCIP 7, HiGHS 7
MAXIMIZE on the next line: SCIP 7, HiGHS 7
MAXIMIZE on the same line: SCIP 7, HiGHS 0
SEEN
