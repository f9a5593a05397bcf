#!/usr/bin/env bash
# SCIP branches by the rule of the highest priority, so one would expect any priority above all others to give the same
# tree for reliability pseudocost branching, which has the highest already.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): up to 536870910 it does. At 536870911, the highest that is allowed, the tree is
# another one: this is what SCIP's heuristics give `inference` in the sub-MIPs they solve, and a copied rule of the same
# priority is asked in its place there. "The highest possible" is thus no way to say "leave it as it is".
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt

AGENTS, JOBS = 5, 30


def assignment(seed):
    draw, model = random.Random(seed), pyscipopt.Model()
    model.hideOutput()
    pairs = [(agent, job) for agent in range(AGENTS) for job in range(JOBS)]
    x = {pair: model.addVar(vtype="B") for pair in pairs}
    size = {pair: draw.randint(5, 40) for pair in pairs}
    for job in range(JOBS):
        model.addCons(pyscipopt.quicksum(x[agent, job] for agent in range(AGENTS)) == 1)
    for agent in range(AGENTS):
        room = int(0.9 * sum(size[agent, job] for job in range(JOBS)) / AGENTS)
        model.addCons(pyscipopt.quicksum(size[agent, job] * x[agent, job] for job in range(JOBS)) <= room)
    model.setObjective(pyscipopt.quicksum((60 - size[pair] + draw.randint(-5, 5)) * x[pair] for pair in pairs))
    return model


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for seed in (0, 2, 3, 4):
    for heuristics in (True, False):
        nodes = []
        for priority in (10000, 2**29 - 2, 2**29 - 1):
            model = assignment(seed)
            model.setParam("branching/relpscost/priority", priority)
            model.setParam("limits/nodes", 3000)
            if not heuristics:
                model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.optimize()
            nodes.append((model.getNTotalNodes(), model.getNLPIterations()))
        below, highest = ("the same" if other == nodes[0] else "another" for other in nodes[1:])
        print(f"seed {seed}, {'with' if heuristics else 'without'} heuristics:",
              f"{below} tree one below the highest, {highest} tree at the highest")
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
seed 0, with heuristics: the same tree one below the highest, another tree at the highest
seed 0, without heuristics: the same tree one below the highest, the same tree at the highest
seed 2, with heuristics: the same tree one below the highest, the same tree at the highest
seed 2, without heuristics: the same tree one below the highest, the same tree at the highest
seed 3, with heuristics: the same tree one below the highest, another tree at the highest
seed 3, without heuristics: the same tree one below the highest, the same tree at the highest
seed 4, with heuristics: the same tree one below the highest, another tree at the highest
seed 4, without heuristics: the same tree one below the highest, the same tree at the highest
SEEN
