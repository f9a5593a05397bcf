#!/usr/bin/env bash
# Parameters of SCIP's LP solver and its seed, set to other values: one would expect other iterations, or a message that
# they do nothing here. Seen with SCIP 10.0 (PySCIPOpt 6.3.0, whose LP solver is SoPlex): randomization/lpseed,
# lp/threads, lp/fastmip and lp/refactorinterval change neither a node nor an iteration of these knapsacks, without a word;
# lp/pricing and randomization/randomseedshift change both. Twelve values of lpseed are one run twelve times.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def tree(instance, name=None, value=None):
    draw, model = random.Random(instance), pyscipopt.Model()
    model.hideOutput()
    if name:
        model.setParam(name, value)
    variables = [model.addVar(vtype="B") for _ in range(60)]
    for _ in range(5):
        sizes = [draw.randint(10, 60) for _ in variables]
        model.addCons(pyscipopt.quicksum(s * v for s, v in zip(sizes, variables)) <= sum(sizes) // 2)
    model.setObjective(pyscipopt.quicksum(draw.randint(10, 60) * v for v in variables), "maximize")
    model.optimize()
    return model.getNTotalNodes(), model.getNLPIterations()


INSTANCES = 0, 3, 4
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
usual = [tree(instance) for instance in INSTANCES]
for name, values in (
    ("randomization/lpseed", range(1, 13)),
    ("lp/threads", (2,)),
    ("lp/fastmip", (0,)),
    ("lp/refactorinterval", (20,)),
    ("lp/pricing", "s"),
    ("randomization/randomseedshift", (1,)),
):
    others = sum(tree(instance, name, value) != before for value in values for instance, before in zip(INSTANCES, usual))
    print(f"{name}: another tree in {others} of {3 * len(values)} runs")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
randomization/lpseed: another tree in 0 of 36 runs
lp/threads: another tree in 0 of 3 runs
lp/fastmip: another tree in 0 of 3 runs
lp/refactorinterval: another tree in 0 of 3 runs
lp/pricing: another tree in 3 of 3 runs
randomization/randomseedshift: another tree in 3 of 3 runs
SEEN
