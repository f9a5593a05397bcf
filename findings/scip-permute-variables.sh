#!/usr/bin/env bash
# `randomization/permutevars = TRUE` alone, where the seed of permutations stays 0: one would expect that it does
# nothing, as permuteconss, which is TRUE by default. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the variables are permuted
# all the same, and the tree is another. The seed alone permutes rows and no variables. Whoever sets permutevars once
# for all seeds has no run of SCIP's own order, not even with the seed 0.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def tree(instance, **parameters):
    draw, model = random.Random(instance), pyscipopt.Model()
    model.hideOutput()
    for name, value in parameters.items():
        model.setParam(f"randomization/{name}", value)
    variables = [model.addVar(vtype="B") for _ in range(60)]
    for _ in range(5):
        sizes = [draw.randint(10, 60) for _ in variables]
        model.addCons(pyscipopt.quicksum(s * v for s, v in zip(sizes, variables)) <= sum(sizes) // 2)
    model.setObjective(pyscipopt.quicksum(draw.randint(10, 60) * v for v in variables), "maximize")
    model.optimize()
    return model.getNTotalNodes(), model.getNLPIterations()


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
usual = [tree(instance) for instance in (0, 1, 3)]
for parameters in ({"permuteconss": True}, {"permutationseed": 5, "permuteconss": False}, {"permutationseed": 5}, {"permutevars": True}):
    others = sum(tree(instance, **parameters) != before for instance, before in zip((0, 1, 3), usual))
    print(" ".join(f"{name}={value}" for name, value in parameters.items()), f"alone: another tree for {others} of 3")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
permuteconss=True alone: another tree for 0 of 3
permutationseed=5 permuteconss=False alone: another tree for 0 of 3
permutationseed=5 alone: another tree for 3 of 3
permutevars=True alone: another tree for 3 of 3
SEEN
