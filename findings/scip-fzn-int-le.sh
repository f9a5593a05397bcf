#!/usr/bin/env bash
# FlatZinc's int_le(x, 3), which most models have: one would expect x <= 3, as int_ge(3, x) and int_lin_le([1], [x], 3)
# say. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the row gets a left-hand side of +1e20, so int_le, int_lt and those of
# floats and booleans make every model infeasible; a warning is all that is said.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for row in ("int_le(x,3)", "int_ge(3,x)", "int_lin_le([1],[x],3)", "int_lt(x,4)", "int_gt(4,x)"):
    with open("own.fzn", "w") as file:
        file.write(f"var 0..5: x;\nconstraint {row};\nsolve maximize x;\n")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.fzn")
    model.optimize()
    print(row, model.getStatus(), f"{model.getObjVal():g}" if model.getNSols() else "-")
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
int_le(x,3) infeasible -
int_ge(3,x) optimal 3
int_lin_le([1],[x],3) optimal 3
int_lt(x,4) infeasible -
int_gt(4,x) optimal 3
SEEN
