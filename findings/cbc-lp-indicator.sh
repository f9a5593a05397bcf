#!/usr/bin/env bash
# An indicator row of an LP file, `c: b = 0 -> x <= 2`, as SCIP, CPLEX and Gurobi write it: one would expect that a solver
# reads or refuses it. Seen with CBC of cbcbox 2.935, SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: CBC reads the row
# `b = 0`, leaves the rest out without a word, and answers 5; with `b = 1` it answers 15, which breaks the row. HiGHS
# refuses the file. Of a section Lazy Constraints CBC makes rows.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pyscipopt


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
    subprocess.run([program, path, "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        words = file.readline().split()
    return f"{words[0]} {float(words[-1]):g}"


for row in ("", " c: b = 1 -> x <= 2\n", " c: b = 0 -> x <= 2\n", "Lazy Constraints\n l: x <= 2\n"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x + 10 b\nSubject To\n r: x + b <= 100\n{row}Bounds\n x <= 5\nBinaries\n b\nEnd\n")
    print(f"{' '.join(row.split()) or 'neither'}: SCIP {scip('own.lp')}, HiGHS {highs('own.lp')}, CBC {cbc('own.lp')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
neither: SCIP optimal 15, HiGHS Optimal 15, CBC Optimal 15
c: b = 1 -> x <= 2: SCIP optimal 12, HiGHS refused, CBC Optimal 15
c: b = 0 -> x <= 2: SCIP optimal 15, HiGHS refused, CBC Optimal 5
Lazy Constraints l: x <= 2: SCIP optimal 12, HiGHS refused, CBC Optimal 12
SEEN
