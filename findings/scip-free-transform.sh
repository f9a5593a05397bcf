#!/usr/bin/env bash
# The best solution after `freeTransform`, with which every loop begins that changes a model and solves again: one would
# expect the optimum, or none. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): SCIP keeps ten of 100 solutions, in the reverse
# order, so that `getBestSol` is the worst of the ten, and `getVal` has its values.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for instance in range(4):
    draw, model = random.Random(instance), pyscipopt.Model()
    model.hideOutput()
    variables = [model.addVar(vtype="B") for _ in range(60)]
    for _ in range(5):
        sizes = [draw.randint(10, 60) for _ in variables]
        model.addCons(pyscipopt.quicksum(s * v for s, v in zip(sizes, variables)) <= sum(sizes) // 2)
    model.setObjective(pyscipopt.quicksum(draw.randint(10, 60) * v for v in variables), "maximize")
    model.optimize()
    optimum, before = model.getObjVal(), [model.getSolObjVal(each) for each in model.getSols()]
    model.freeTransform()
    after = [model.getSolObjVal(each) for each in model.getSols()]
    best = model.getSolObjVal(model.getBestSol())
    print(f"optimum {optimum:.0f}, {len(before)} solutions; then {len(after)},", end=" ")
    print("worst first" if after == sorted(before[:10]) else "otherwise", f"getBestSol {best:.0f}, the last {after[-1]:.0f}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
optimum 1470, 100 solutions; then 10, worst first getBestSol 1464, the last 1470
optimum 1358, 100 solutions; then 10, worst first getBestSol 1345, the last 1358
optimum 1356, 99 solutions; then 10, worst first getBestSol 1344, the last 1356
optimum 1326, 100 solutions; then 10, worst first getBestSol 1315, the last 1326
SEEN
