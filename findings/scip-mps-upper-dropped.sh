#!/usr/bin/env bash
# Lower and upper bound of an integer column, in either order: one would expect the same model.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: where an upper bound of 1 comes first (UP 1, or BV), SCIP's MPS
# reader drops it at the lower bound that follows, so that a binary becomes an integer without an upper bound. An upper
# bound of 2 stays, and so does 1 if it comes last. HiGHS reads all four as written.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt

MODEL = """NAME own
ROWS
 N obj
 L row
COLUMNS
 M1 'MARKER' 'INTORG'
 x obj -1 row 1
 M2 'MARKER' 'INTEND'
RHS
 rhs row 7
BOUNDS
{}ENDATA
"""
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for bounds in (("UP bnd x 1", "LO bnd x 0"), ("BV bnd x", "LO bnd x 0"), ("UP bnd x 2", "LO bnd x 0"), ("LO bnd x 0", "UP bnd x 1")):
    with open("own.mps", "w") as file:
        file.write(MODEL.format("".join(f" {line}\n" for line in bounds)))
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.mps")
    model.optimize()
    solver = highspy.Highs()
    solver.silent()
    solver.readModel("own.mps")
    solver.run()
    print(f"{bounds[0]}, then {bounds[1]}: SCIP {model.getObjVal():g}, HiGHS {solver.getObjectiveValue():g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
UP bnd x 1, then LO bnd x 0: SCIP -7, HiGHS -1
BV bnd x, then LO bnd x 0: SCIP -7, HiGHS -1
UP bnd x 2, then LO bnd x 0: SCIP -2, HiGHS -2
LO bnd x 0, then UP bnd x 1: SCIP -1, HiGHS -1
SEEN
