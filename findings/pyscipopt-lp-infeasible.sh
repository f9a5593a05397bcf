#!/usr/bin/env bash
# `pyscipopt.LP.solve` returns the objective value of an LP, and `getPrimal` its solution, so that one expects an error or
# no solution where there is none.
# Seen with PySCIPOpt 6.3.0: of an infeasible LP that is minimised `solve` returns 1e100 and `getPrimal` a point that breaks
# a bound, as if it were solved; of an unbounded one -1e100 and a point. `isOptimal` has to be asked each time.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
outcomes = {}
for name, objective, upper, row in (
    ("solved", 1.0, 3.0, (2.0, 3.0)),
    ("infeasible", 1.0, 1.0, (2.0, 3.0)),
    ("unbounded", -1.0, None, (2.0, None)),
):
    lp = pyscipopt.LP()
    lp.addCol([], objective, 0.0, lp.infinity() if upper is None else upper)
    low, high = row
    lp.addRow([(0, 1.0)], low, lp.infinity() if high is None else high)
    outcomes[name] = lp.solve(), list(lp.getPrimal()), lp.isOptimal()
    print(name, outcomes[name])
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
solved (2.0, [2.0], 1)
infeasible (1e+100, [2.0], 0)
unbounded (-1e+100, [2.0], 0)
SEEN
