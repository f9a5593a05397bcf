#!/usr/bin/env bash
# Names of variables that a format cannot hold, written by SCIP and read by SCIP: one would expect an error of either.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): it warns at most when it writes, and refuses some of its own files, such as
# x[1,2] in LP. Without an error it reads a variable called `end` in an LP file as the end of the model, `x 1` in an MPS
# file as x, and `a>b` in a CIP file, the format that holds all else, as a variable that is in no row.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt


def optimum(model):
    model.hideOutput()
    model.optimize()
    return f"{model.getObjVal():g} of {len(model.getVars())} variables"


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for name in ("z", "x[1,2]", "x 1", "end", "a>b"):
    found = []
    for kind in ("lp", "mps", "cip"):
        model = pyscipopt.Model()
        first, x, y = (model.addVar(each, vtype="I", ub=most) for each, most in ((name, 3), ("x", 5), ("y", 7)))
        model.addCons(2 * first + x + y <= 9)
        model.addCons(first + 3 * x <= 10)
        model.setObjective(5 * first + 4 * x + 3 * y, "maximize")
        model.writeProblem(f"own.{kind}", verbose=False)
        read = pyscipopt.Model()
        try:
            read.readProblem(f"own.{kind}")
            found.append(f"{kind} {optimum(read)}")
        except Exception:
            found.append(f"{kind} an error")
    print(f"{name}: {optimum(model)}; read back from", ", ".join(found))
PY
venv/bin/python seen.py 2> errors.txt | grep -v "^original problem" | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
z: 30 of 3 variables; read back from lp 30 of 3 variables, mps 30 of 3 variables, cip 30 of 3 variables
  input:  Obj: +5 x[1,2] +4 x +3 y

                       ^
x[1,2]: 30 of 3 variables; read back from lp an error, mps 30 of 3 variables, cip 30 of 3 variables
  input:  Obj: +5 x 1 +4 x +3 y

                      ^
x 1: 30 of 3 variables; read back from lp an error, mps 30 of 2 variables, cip 30 of 3 variables
end: 30 of 3 variables; read back from lp 5 of 0 variables, mps 30 of 3 variables, cip 30 of 3 variables
  input:  Obj: +5 a>b +4 x +3 y

                   ^
a>b: 30 of 3 variables; read back from lp an error, mps 30 of 3 variables, cip 56 of 3 variables
SEEN
