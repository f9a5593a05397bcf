#!/usr/bin/env bash
# A constant in the objective of an LP file that is maximised: one would expect what SCIP and HiGHS answer. Seen with CBC of
# cbcbox 2.935, that of PuLP 3.3.2 (2.10.3), SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: CBC takes it with the other
# sign, so that a largest value of 10 is -4; minimised it is right. The CBC in PuLP reads it if it is
# maximised, and leaves it out if it is minimised.
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


for objective, row in (("Maximize", "x <= 3"), ("Minimize", "x >= 3")):
    with open("own.lp", "w") as file:
        file.write(f"{objective}\n obj: x + 7\nSubject To\n r: {row}\nEnd\n")
    both = (cbc("own.lp"), cbc("own.lp", pulp.PULP_CBC_CMD().path))
    print(f"{objective}: SCIP {scip('own.lp')}, HiGHS {highs('own.lp')}, CBC {both[0]}, CBC in PuLP {both[1]}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
Maximize: SCIP optimal 10, HiGHS Optimal 10, CBC Optimal -4, CBC in PuLP Optimal 10
Minimize: SCIP optimal 10, HiGHS Optimal 10, CBC Optimal 10, CBC in PuLP Optimal 3
SEEN
