#!/usr/bin/env bash
# Statuses of scipy.optimize.milp: one would expect 1 at a limit and 3 of an unbounded model, as its documentation
# says. Seen with SciPy 1.17.1: at a limit of nodes it is 4, "not recognized", with a solution that holds; integers without
# bounds are 4 where their relaxation is 3. A gap of 20 % is 0, "success".
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6

cat > seen.py <<'PY'
import numpy
import scipy
from scipy.optimize import LinearConstraint, milp

draw = numpy.random.default_rng(3)
rows, costs = draw.integers(5, 61, (10, 60)), draw.integers(5, 61, 60)


def knapsack(**options):
    return milp(-costs, integrality=numpy.ones(60), bounds=(0, 1), constraints=LinearConstraint(rows, -numpy.inf, 600), options=options)


print("SciPy", scipy.__version__)
for name, result in (
    ("solved", knapsack()),
    ("node_limit 1", knapsack(node_limit=1)),
    ("time_limit 0", knapsack(time_limit=0)),
    ("mip_rel_gap 0.2", knapsack(mip_rel_gap=0.2)),
    ("unbounded", milp([-1])),
    ("unbounded integers", milp([-1], integrality=1)),
):
    holds = result.x is not None and (result.x <= 1).all() and (rows @ result.x <= 600).all()
    words = "no solution" if result.x is None else f"a solution that holds {holds}"
    print(f"{name}: status {result.status}, success {result.success}, {words}, {result.message.split('.')[0]}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SciPy 1.17.1
solved: status 0, success True, a solution that holds True, Optimization terminated successfully
node_limit 1: status 4, success False, a solution that holds True, The HiGHS status code was not recognized
time_limit 0: status 1, success False, no solution, Time limit reached
mip_rel_gap 0.2: status 0, success True, a solution that holds True, Optimization terminated successfully
unbounded: status 3, success False, no solution, The problem is unbounded
unbounded integers: status 4, success False, no solution, The problem is unbounded or infeasible
SEEN
