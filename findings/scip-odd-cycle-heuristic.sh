#!/usr/bin/env bash
# SCIP's separator of odd cycles has two heuristics, and prefers one (separating/oddcycle/usegls = TRUE): one would expect
# it to close more of the root's gap, or to take less time. Seen with SCIP 10.0 (PySCIPOpt 6.3.0) on independent sets of
# random graphs, odd cycles as the only cuts: on each of four its bound at the root is weaker than that of the other one,
# after more LP iterations.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def root(nodes, degree, seed, preferred):
    draw, model = random.Random(seed), pyscipopt.Model()
    model.hideOutput()
    chosen = [model.addVar(vtype="B", obj=-1) for _ in range(nodes)]
    edges = {(draw.randrange(node), node) for node in range(1, nodes) for _ in range(degree)}
    for first, second in sorted(edges):
        model.addCons(chosen[first] + chosen[second] <= 1)
    for off in (model.setSeparating, model.setHeuristics):
        off(pyscipopt.SCIP_PARAMSETTING.OFF)
    cycles = {"freq": 0, "maxroundsroot": -1, "maxunsucessfull": 10, "usegls": preferred}
    model.setParams({f"separating/oddcycle/{name}": value for name, value in cycles.items()})
    model.setParams({"limits/nodes": 1, "presolving/maxrestarts": 0})
    model.optimize()
    return model.getDualbound(), model.getNLPIterations()


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
print("preferred", pyscipopt.Model().getParam("separating/oddcycle/usegls"))
for nodes, degree, seed in ((300, 3, 0), (300, 3, 1), (500, 4, 2), (500, 3, 3)):
    (bound, iterations), (other_bound, other_iterations) = (
        root(nodes, degree, seed, preferred) for preferred in (True, False)
    )
    # minimised: the lower the bound, the weaker
    print(f"{nodes} nodes: weaker", bound < other_bound - 0.1, "more iterations", iterations > 1.1 * other_iterations)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
preferred True
300 nodes: weaker True more iterations True
300 nodes: weaker True more iterations True
500 nodes: weaker True more iterations True
500 nodes: weaker True more iterations True
SEEN
