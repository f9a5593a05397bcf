#!/usr/bin/env bash
# SCIP reads a solution that SCIP wrote: one would expect the same objective.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the reader skips every line that begins with NAME, as it does others of old
# headers, so that a variable called NAME_x is lost without a word. A blank before the name is enough to keep it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt


def model():
    found = pyscipopt.Model()
    found.hideOutput()
    x, y = (found.addVar(name, vtype="I", ub=most) for name, most in (("NAME_x", 9), ("y", 2)))
    found.setObjective(x + y, "maximize")
    return found


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
solved = model()
solved.optimize()
solved.writeBestSol("own.sol")
head, *lines = open("own.sol").readlines()
print("solved:", solved.getObjVal())
for words, begin in (("as SCIP wrote it", ""), ("with a blank before each name", " ")):
    with open("read.sol", "w") as file:
        file.writelines([head, *(begin + line for line in lines)])
    again = model()
    print(f"read {words}:", again.getSolObjVal(again.readSolFile("read.sol")))
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
solved: 11.0
read as SCIP wrote it: 2.0
read with a blank before each name: 11.0
SEEN
