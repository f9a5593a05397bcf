#!/usr/bin/env bash
# The best of twelve random seeds of SCIP on eight instances, taken for eight others of the same kind: one would expect
# that some of its gain stays. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): it has more than 10 % fewer nodes than the mean
# seed where it was chosen (shifted geometric means), and no more than 3 % where it was not. What was tuned must be
# measured on other instances.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import math
import random

import pyscipopt

SEEDS, INSTANCES = range(12), range(16)


def nodes(instance, seed):
    draw, model = random.Random(instance), pyscipopt.Model()
    model.hideOutput()
    model.setParam("randomization/randomseedshift", seed)
    variables = [model.addVar(vtype="B", obj=-draw.randint(5, 60)) for _ in range(30)]
    for _ in range(6):
        model.addCons(sum(draw.randint(5, 60) * each for each in variables) <= 300)
    model.optimize()
    return model.getNTotalNodes()


counts = {(instance, seed): nodes(instance, seed) for instance in INSTANCES for seed in SEEDS}


def mean(instances, seed):
    return math.exp(sum(math.log(counts[instance, seed] + 10) for instance in instances) / len(instances)) - 10


def gain(instances, seed):
    return 1 - mean(instances, seed) / (sum(mean(instances, each) for each in SEEDS) / len(SEEDS))


chosen, others = INSTANCES[::2], INSTANCES[1::2]
best = min(SEEDS, key=lambda seed: mean(chosen, seed))
with open("gains.txt", "w") as file:
    print(*(f"{gain(part, best):.3f}" for part in (chosen, others)), min(counts.values()), max(counts.values()), file=file)
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
print("more than 10 % fewer nodes where chosen:", gain(chosen, best) > 0.10)
print("more than 3 % fewer nodes elsewhere:", gain(others, best) > 0.03)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
more than 10 % fewer nodes where chosen: True
more than 3 % fewer nodes elsewhere: False
SEEN
