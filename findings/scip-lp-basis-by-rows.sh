#!/usr/bin/env bash
# SoPlex may keep its basis by columns or by rows, and SCIP chooses by rows where the LP has 1.2 rows a column or more
# (lp/rowrepswitch): one would expect about the better one of both. Seen with SCIP 10.0 (PySCIPOpt 6.3.0) on network
# design, the first 150 nodes without cuts and heuristics: it chooses columns, since the presolved problem has less than
# 1.2 rows a column, and takes 1.6 to 2 times the LP iterations that it takes by rows, on each of four networks.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def solved(seed, switch, nodes=20, arcs=100, commodities=12):
    draw, model = random.Random(seed), pyscipopt.Model()
    model.hideOutput()
    ring = [(i, (i + 1) % nodes) for i in range(nodes)]
    others = [(i, j) for i in range(nodes) for j in range(nodes) if i != j and (i, j) not in ring]
    ends = ring + draw.sample(others, arcs - nodes)
    pairs = [draw.sample(range(nodes), 2) for _ in range(commodities)]
    demands = [draw.randint(5, 35) for _ in range(commodities)]
    for_one = [draw.randint(1, 20) for _ in ends]
    room = [sum(demands) if a < nodes else draw.randint(35, 105) for a in range(arcs)]
    is_open = [model.addVar(vtype="B", obj=10 * of * draw.uniform(0.5, 1.5)) for of in room]
    share = [[model.addVar(ub=1, obj=unit * demand) for demand in demands] for unit in for_one]
    for k, (origin, destination) in enumerate(pairs):
        for node in range(nodes):
            out = pyscipopt.quicksum(share[a][k] for a, (tail, _) in enumerate(ends) if tail == node)
            into = pyscipopt.quicksum(share[a][k] for a, (_, head) in enumerate(ends) if head == node)
            model.addCons(out - into == (node == origin) - (node == destination))
    for a in range(arcs):
        carried = pyscipopt.quicksum(demand * one for demand, one in zip(demands, share[a]))
        model.addCons(carried <= room[a] * is_open[a])
        for one in share[a]:
            model.addCons(one <= is_open[a])
    for off in (model.setSeparating, model.setHeuristics):
        off(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.setParams({"branching/pscost/priority": 1000000, "limits/nodes": 150})
    if switch is not None:
        model.setParam("lp/rowrepswitch", switch)
    model.optimize()
    return model.getNNodes(), model.getNConss() / model.getNVars(), model.getNLPIterations()


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
print("switch", pyscipopt.Model().getParam("lp/rowrepswitch"))
for seed in (0, 2, 4, 5):
    (nodes, shape, chosen), by_columns, (_, _, by_rows) = (solved(seed, switch) for switch in (None, -1.0, 0.0))
    print(f"network {seed}: {nodes} nodes, less than 1.2 rows a column: {shape < 1.2},", end=" ")
    print(f"as by columns: {chosen == by_columns[-1]}, over iterations by rows: {chosen / by_rows:.2f}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
switch 1.2
network 0: 150 nodes, less than 1.2 rows a column: True, as by columns: True, over iterations by rows: 1.68
network 2: 150 nodes, less than 1.2 rows a column: True, as by columns: True, over iterations by rows: 1.61
network 4: 150 nodes, less than 1.2 rows a column: True, as by columns: True, over iterations by rows: 1.74
network 5: 150 nodes, less than 1.2 rows a column: True, as by columns: True, over iterations by rows: 2.05
SEEN
