#!/usr/bin/env bash
# After a solve with a tree one would expect SCIP to know the dual bound with which its root ended: `getDualboundRoot`, in
# the statistics "Final Dual Bound" of "Root Node". Whoever computes from it the gap that a root closes takes it for one.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): on half of these knapsacks, all solved to optimality, it is infinite (-1e20 of a
# maximum), also where a tree of 59 or 104 nodes followed, with and without restarts. The bound that a root really left is
# the dual bound when the second node comes into focus, by an event handler.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def solved(seed, restarts):
    draw, model = random.Random(seed), pyscipopt.Model()
    model.hideOutput()
    model.setParam("presolving/maxrestarts", restarts)
    x = [model.addVar(vtype="B") for _ in range(60)]
    for _ in range(5):
        sizes = [draw.randint(10, 60) for _ in x]
        model.addCons(pyscipopt.quicksum(s * v for s, v in zip(sizes, x)) <= sum(sizes) // 2)
    model.setObjective(pyscipopt.quicksum(draw.randint(10, 60) * v for v in x), "maximize")
    model.optimize()
    assert model.getStatus() == "optimal"
    return model.getDualboundRoot(), model.getNNodes(), model.getNRuns()


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
infinite = {}
for restarts in (-1, 0):
    infinite[restarts] = 0
    for seed in range(12):
        bound, nodes, runs = solved(seed, restarts)
        print(f"restarts {restarts:2d} seed {seed:2d}: bound {bound:.6g}, {nodes} nodes in run {runs}")
        infinite[restarts] += abs(bound) >= 1e20 and nodes > 1
print("infinite with a tree:", infinite)
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
restarts -1 seed  0: bound 1478.78, 115 nodes in run 2
restarts -1 seed  1: bound -1e+20, 47 nodes in run 2
restarts -1 seed  2: bound -1e+20, 1 nodes in run 4
restarts -1 seed  3: bound -1e+20, 59 nodes in run 4
restarts -1 seed  4: bound 1317.48, 163 nodes in run 3
restarts -1 seed  5: bound -1e+20, 1 nodes in run 3
restarts -1 seed  6: bound -1e+20, 1 nodes in run 5
restarts -1 seed  7: bound -1e+20, 1 nodes in run 3
restarts -1 seed  8: bound -1e+20, 1 nodes in run 2
restarts -1 seed  9: bound -1e+20, 1 nodes in run 5
restarts -1 seed 10: bound -1e+20, 1 nodes in run 5
restarts -1 seed 11: bound 1420.46, 13 nodes in run 5
restarts  0 seed  0: bound -1e+20, 104 nodes in run 1
restarts  0 seed  1: bound 1365.37, 36 nodes in run 1
restarts  0 seed  2: bound -1e+20, 3 nodes in run 1
restarts  0 seed  3: bound 1330.48, 33 nodes in run 1
restarts  0 seed  4: bound 1317.6, 114 nodes in run 1
restarts  0 seed  5: bound -1e+20, 1 nodes in run 1
restarts  0 seed  6: bound 1478.14, 13 nodes in run 1
restarts  0 seed  7: bound -1e+20, 3 nodes in run 1
restarts  0 seed  8: bound -1e+20, 1 nodes in run 1
restarts  0 seed  9: bound 1412.33, 23 nodes in run 1
restarts  0 seed 10: bound 1529.36, 5 nodes in run 1
restarts  0 seed 11: bound 1422.66, 17 nodes in run 1
infinite with a tree: {-1: 2, 0: 3}
SEEN
