#!/usr/bin/env bash
# A variable of Pyomo that is fixed to a value it may not have, an integer to 0.5 or one from 0 to 3 to 7: one would expect
# one answer of all solvers and files, such as "infeasible". Seen with Pyomo 6.10.1, PySCIPOpt 6.3.0 (SCIP 10.0) and HiGHS
# 1.16.0: files have the value for the variable, so that 0.5 is optimal; the interfaces in the process say that nothing is
# feasible. Of 7 it is the other way: .nl refuses the model, and all else, also the interfaces, take 7 as it is.
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


def built(value):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 3)), pyo.Var(bounds=(0, 9))
    model.x.fix(value)
    model.row = pyo.Constraint(expr=model.x + model.y <= 10)
    model.objective = pyo.Objective(expr=model.x + 2 * model.y, sense=pyo.maximize)
    return model


def by_file(kind, value):
    built(value).write(f"own.{kind}")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(f"own.{kind}")
    scip.optimize()
    return f"{scip.getStatus()} {scip.getObjVal():g}"


def by_interface(name, value):
    model = built(value)
    pyo.SolverFactory(name).solve(model)
    return f"optimal {pyo.value(model.objective):g}"


print("Pyomo", pyomo.version.version, "PySCIPOpt", pyscipopt.__version__)
for value in (2, 0.5, 7):
    for solved, names in ((by_file, ("lp", "mps", "nl")), (by_interface, ("scip_direct", "scip_persistent", "highs", "appsi_highs"))):
        for name in names:
            try:
                print(f"x fixed to {value}, {name}: {solved(name, value)}")
            except Exception as error:
                print(f"x fixed to {value}, {name}: {type(error).__name__}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
Pyomo 6.10.1 PySCIPOpt 6.3.0
x fixed to 2, lp: optimal 18
x fixed to 2, mps: optimal 18
x fixed to 2, nl: optimal 18
x fixed to 2, scip_direct: optimal 18
x fixed to 2, scip_persistent: optimal 18
x fixed to 2, highs: optimal 18
x fixed to 2, appsi_highs: optimal 18
x fixed to 0.5, lp: optimal 18.5
x fixed to 0.5, mps: optimal 18.5
x fixed to 0.5, nl: optimal 18.5
x fixed to 0.5, scip_direct: NoFeasibleSolutionError
x fixed to 0.5, scip_persistent: NoFeasibleSolutionError
x fixed to 0.5, highs: NoFeasibleSolutionError
x fixed to 0.5, appsi_highs: RuntimeError
x fixed to 7, lp: optimal 13
x fixed to 7, mps: optimal 13
x fixed to 7, nl: InfeasibleConstraintException
x fixed to 7, scip_direct: optimal 13
x fixed to 7, scip_persistent: optimal 13
x fixed to 7, highs: optimal 13
x fixed to 7, appsi_highs: optimal 13
SEEN
