#!/usr/bin/env bash
# The seconds of short solves by SCIP's clock of the CPU (timing/clocktype = 1): one would expect microseconds, as from
# the system. Seen with SCIP 10.0 (PySCIPOpt 6.3.0) on Linux: each is a multiple of 10 ms, so that solves of less than
# that take 0 or 10 ms, and so do all times of plugins. The clock on the wall (2) has microseconds.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


def seconds(clock):
    for seed in range(40):
        draw, model = random.Random(seed), pyscipopt.Model()
        model.hideOutput()
        model.setParam("timing/clocktype", clock)
        variables = [model.addVar(vtype="B", obj=-draw.randint(10, 40)) for _ in range(20)]
        for _ in range(5):
            model.addCons(sum(draw.randint(5, 30) * each for each in variables) <= 150)
        model.optimize()
        yield model.getSolvingTime()


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for clock, name in ((1, "CPU"), (2, "wall")):
    print(f"{name}: all multiples of 10 ms {all(abs(100 * each - round(100 * each)) < 1e-6 for each in seconds(clock))}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
CPU: all multiples of 10 ms True
wall: all multiples of 10 ms False
SEEN
