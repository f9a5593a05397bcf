#!/usr/bin/env bash
# A semi-continuous variable that is 0 or from -10 to -3, in an LP file: one would expect a largest value of 0. Seen
# with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and CBC of cbcbox 2.935: SCIP loses the 0, as do files with Bounds
# after Semi-continuous, and answers -3; HiGHS ends with "Solve error"; CBC says infeasible.
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
    return " ".join(words[: words.index("-")])


with open("own.lp", "w") as file:
    file.write("Maximize\n obj: x\nSubject To\n r: x + y >= -100\nBounds\n -10 <= x <= -3\n y <= 5\nSemi-continuous\n x\nEnd\n")
print(f"SCIP {scip('own.lp')}, HiGHS {highs('own.lp')}, CBC {cbc('own.lp')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP optimal -3, HiGHS Solve error, CBC Integer infeasible
SEEN
