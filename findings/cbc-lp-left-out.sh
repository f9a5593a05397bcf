#!/usr/bin/env bash
# A quadratic row, a quadratic objective and a constant in the objective of an LP file: one would expect that CBC reads
# or refuses them. Seen with CBC of cbcbox 2.935, that of PuLP 3.3.2 (2.10.3), SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS
# 1.16.0: both CBC leave the quadratic term of a row out without a word, and the one in PuLP also that of the objective,
# and the constant. HiGHS refuses quadratic rows.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 pulp==3.3.2
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pulp
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


for objective, row in (("x", "[ x^2 ] >= 16"), ("[ x^2 ] / 2", "x >= 4"), ("x + 7", "x >= 4")):
    with open("own.lp", "w") as file:
        file.write(f"Minimize\n obj: {objective}\nSubject To\n r: {row}\nBounds\n x <= 100\nEnd\n")
    both = (cbc("own.lp"), cbc("own.lp", pulp.PULP_CBC_CMD().path))
    print(f"{objective}, {row}: SCIP {scip('own.lp')}, HiGHS {highs('own.lp')}, CBC {both[0]}, CBC in PuLP {both[1]}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
x, [ x^2 ] >= 16: SCIP optimal 4, HiGHS refused, CBC Optimal 0, CBC in PuLP Optimal 0
[ x^2 ] / 2, x >= 4: SCIP optimal 8, HiGHS Optimal 8, CBC Optimal 8, CBC in PuLP Optimal 0
x + 7, x >= 4: SCIP optimal 11, HiGHS Optimal 11, CBC Optimal 11, CBC in PuLP Optimal 4
SEEN
