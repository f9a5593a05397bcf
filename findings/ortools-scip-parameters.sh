#!/usr/bin/env bash
# Lines of a settings file as SCIP reads them, given to OR-Tools' MPSolver: one would expect that it takes the same.
# Seen with OR-Tools 9.15 and SCIP 10.0 (PySCIPOpt 6.3.0): MPSolver refuses comments, which every file has that SCIP
# writes. It raises nothing, but returns False and logs a warning. Both refuse a character in quotes.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 ortools==9.15.6755
cat > seen.py <<'PY'
import ortools
import pyscipopt
from ortools.linear_solver import pywraplp

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "OR-Tools", ortools.__version__)
for line in ("limits/nodes = 7", "limits/nodes = 7 # few", "# few\nlimits/nodes = 7", 'limits/nodes = 7\nlp/pricing = "s"', "limits/nodes = 7\n\nlp/pricing = s"):
    with open("own.set", "w") as file:
        file.write(line + "\n")
    model = pyscipopt.Model()
    try:
        model.readParams("own.set")
        read = model.getParam("limits/nodes") == 7
    except ValueError:
        read = False
    taken = pywraplp.Solver.CreateSolver("SCIP").SetSolverSpecificParametersAsString(line)
    print(f"{line!r}: SCIP {read}, OR-Tools {taken}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 OR-Tools 9.15.6755
'limits/nodes = 7': SCIP True, OR-Tools True
'limits/nodes = 7 # few': SCIP True, OR-Tools False
'# few\nlimits/nodes = 7': SCIP True, OR-Tools False
'limits/nodes = 7\nlp/pricing = "s"': SCIP False, OR-Tools False
'limits/nodes = 7\n\nlp/pricing = s': SCIP True, OR-Tools True
SEEN
