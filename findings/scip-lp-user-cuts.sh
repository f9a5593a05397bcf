#!/usr/bin/env bash
# The section User Cuts of an LP file, cuts that leave every optimum: one would expect the optimum that is there without
# it. Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and CBC of cbcbox 2.935: SCIP makes the last row before the section a cut
# too, which no solution need satisfy, and calls a bounded model unbounded. CBC answers 7; HiGHS 1.16.0 refuses the
# file.
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


for section in ("", "User Cuts\n u: y <= 6\n"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x + y\nSubject To\n r: x <= 5\n s: x + y <= 7\n{section}Generals\n x y\nEnd\n")
    words = "with User Cuts" if section else "without"
    print(f"{words}: SCIP {scip('own.lp')}, HiGHS {highs('own.lp')}, CBC {cbc('own.lp')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
without: SCIP optimal 7, HiGHS Optimal 7, CBC Optimal 7
with User Cuts: SCIP unbounded, HiGHS refused, CBC Optimal 7
SEEN
