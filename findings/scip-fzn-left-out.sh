#!/usr/bin/env bash
# A model with a product of variables, written as FlatZinc: one would expect int_times or an error. Seen with SCIP 10.0
# (PySCIPOpt 6.3.0): the row is left out with a warning, of which the file says nothing; only the count at its head has
# it, and what is read has another optimum.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
model = pyscipopt.Model()
x, y = (model.addVar(name, "I", ub=3, obj=1) for name in "xy")
model.setMaximize()
model.addCons(x + y <= 5)
model.addCons(x * y <= 3)
model.writeProblem("own.fzn", verbose=False)
again = pyscipopt.Model()
again.readProblem("own.fzn")
for each in (model, again):
    rows = each.getNConss()
    each.hideOutput()
    each.optimize()
    print(f"{rows} rows, optimum {each.getObjVal():g}")
print(*(line.strip() for line in open("own.fzn") if line.startswith(("% Constraints", "constraint"))), sep="\n")
PY
venv/bin/python seen.py | grep -v "^original" | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
2 rows, optimum 4
1 rows, optimum 5
% Constraints      : 2
constraint int_lin_le([1, 1], [x, y], 5);
SEEN
