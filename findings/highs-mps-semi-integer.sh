#!/usr/bin/env bash
# An integer column of an MPS file that is also semicontinuous (SC): one would expect 0 or an integer from 2 to 9. Seen
# with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and CBC of cbcbox 2.935: HiGHS forgets that it is an integer, so that
# 2.5 is optimal. Of the bound SI all that read it take an integer; CBC refuses it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935
cat > seen.py <<'PY'
import os
import subprocess

import cbcbox
import highspy
import pyscipopt

TEXT = """NAME          OWN
ROWS
 N  OBJ
 G  ROW
COLUMNS
    MARK      'MARKER'                 'INTORG'
    X         OBJ                1.0   ROW                1.0
    MARK      'MARKER'                 'INTEND'
    Y         OBJ               50.0   ROW                1.0
RHS
    RHS       ROW                2.5
BOUNDS
 LO BND       X                  2.0
 {kind} BND       X                  9.0
ENDATA
"""


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    return f"{model.getStatus()} {model.getObjVal():g}" if model.getStatus() == "optimal" else model.getStatus()


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    if solver.readModel(path) == highspy.HighsStatus.kError:
        return "refused"
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus())
    return f"{status} {solver.getObjectiveValue():g}" if status == "Optimal" else status


def cbc(path, program=cbcbox.cbc_bin_path()):
    subprocess.run([program, path, "-solve", "-solution", "own.sol"], capture_output=True, check=False)
    if not os.path.exists("own.sol"):
        return "refused"
    with open("own.sol") as file:
        words = file.readline().split()
    return f"{words[0]} {float(words[-1]):g}"


for kind in ("SI", "SC"):
    with open("own.mps", "w") as file:
        file.write(TEXT.format(kind=kind))
    print(f"{kind}: SCIP {scip('own.mps')}, HiGHS {highs('own.mps')}, CBC {cbc('own.mps')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SI: SCIP optimal 3, HiGHS Optimal 3, CBC refused
SC: SCIP optimal 3, HiGHS Optimal 2.5, CBC Optimal 3
SEEN
