#!/usr/bin/env bash
# A variable of Pyomo whose domain is RangeSet(2, 10, 4), that is 2, 6 or 10: one would expect a smallest value of 6 where a
# row asks for 3, or an error. Seen with Pyomo 6.10.1, PySCIPOpt 6.3.0 (SCIP 10.0) and HiGHS 1.16.0: .nl, .mps and the
# interfaces in the process refuse it; the LP writer makes it an integer from 2 to 10 without a word, so that 3 is optimal.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyomo==6.10.1 pyscipopt==6.3.0 highspy==1.16.0

cat > seen.py <<'PY'
import logging

import pyomo.environ as pyo
import pyomo.version
import pyscipopt

logging.getLogger("pyomo").setLevel(logging.CRITICAL)


def built():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.RangeSet(2, 10, 4))
    model.row = pyo.Constraint(expr=model.x >= 3)
    model.objective = pyo.Objective(expr=model.x)
    return model


def by_file(kind):
    built().write(f"own.{kind}")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(f"own.{kind}")
    scip.optimize()
    return f"{scip.getStatus()} {scip.getObjVal():g}"


def by_interface(name):
    model = built()
    pyo.SolverFactory(name).solve(model)
    return f"optimal {pyo.value(model.objective):g}"


print("Pyomo", pyomo.version.version, "PySCIPOpt", pyscipopt.__version__)
print("the domain:", *built().x.domain)
for solved, names in ((by_file, ("lp", "mps", "nl")), (by_interface, ("scip_direct", "highs", "appsi_highs"))):
    for name in names:
        try:
            print(f"{name}: {solved(name)}")
        except Exception as error:
            print(f"{name}: {type(error).__name__}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
Pyomo 6.10.1 PySCIPOpt 6.3.0
the domain: 2 6 10
lp: optimal 3
mps: AssertionError
nl: ValueError
scip_direct: ValueError
highs: ValueError
appsi_highs: ValueError
SEEN
