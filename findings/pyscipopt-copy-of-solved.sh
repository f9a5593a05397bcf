#!/usr/bin/env bash
# `Model(sourceModel=model)` of a model that was solved: one would expect a copy of the model, as before the solve. Seen
# with PySCIPOpt 6.3.0 (SCIP 10.0): it copies what presolving left of it, minimised and without the constant. Of this
# one nothing is left, so that the copy's optimum is 0 for 8. `origcopy=True` copies the model.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt


def shown(model):
    model.hideOutput()
    model.optimize()
    names = [variable.name for variable in model.getVars()]
    return f"{model.getObjectiveSense()} {names}, {model.getStatus()} {model.getObjVal():g}"


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
model = pyscipopt.Model()
x = model.addVar("x", vtype="I", ub=9)
model.addCons(2 * x <= 7)
model.setObjective(x + 5, "maximize")
for when in ("before the solve", "after it"):
    for origcopy in (False, True):
        print(f"{when}, origcopy={origcopy}:", shown(pyscipopt.Model(sourceModel=model, origcopy=origcopy)))
    model.hideOutput()
    model.optimize()
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
before the solve, origcopy=False: maximize ['x'], optimal 8
before the solve, origcopy=True: maximize ['x'], optimal 8
after it, origcopy=False: minimize [], optimal 0
after it, origcopy=True: maximize ['x'], optimal 8
SEEN
