#!/usr/bin/env bash
# PuLP's files of a model with a constant in its objective that is maximised: one would expect what PuLP solves, 7 + 3.
# Seen with PuLP 3.3.2 and SCIP 10.0 (PySCIPOpt 6.3.0): LP and MPS files lack the constant; the MPS file has the sense in
# a comment alone, so SCIP minimises; with `with_objsense=True` it stands before NAME, where SCIP reads nothing.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pulp==3.3.2 pyscipopt==6.3.0
cat > seen.py <<'PY'
import pulp
import pyscipopt

model = pulp.LpProblem("own", pulp.LpMaximize)
x = pulp.LpVariable("x", 0, 3, cat="Integer")
model += x + 7
model += x >= 1
model.solve(pulp.PULP_CBC_CMD(msg=False))
print("PuLP:", pulp.value(model.objective))
model.writeLP("own.lp")
model.writeMPS("own.mps")
model.writeMPS("minimised.mps", mpsSense=pulp.LpMinimize)
model.writeMPS("objsense.mps", with_objsense=True)
for file in ("own.lp", "own.mps", "minimised.mps", "objsense.mps"):
    scip = pyscipopt.Model()
    scip.hideOutput()
    try:
        scip.readProblem(file)
        scip.optimize()
        print(file, scip.getObjectiveSense(), f"{scip.getObjVal():g}")
    except Exception as error:
        print(file, error)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
PuLP: 10.0
own.lp maximize 3
own.mps minimize 1
minimised.mps minimize -3
objsense.mps SCIP: read error!
SEEN
