#!/usr/bin/env bash
# MPS files that ommx reads and writes: one would expect the model that SCIP and HiGHS read of the same file, and of what
# it writes the model that it had. Seen with ommx 2.9.3, PySCIPOpt 6.3.0 (SCIP 10.0) and HiGHS 1.16.0: `UP 0` drops the
# lower bound of 0, and a right-hand side of the objective is left out. A semi-continuous variable, by its documentation
# 0 or from 2 to 9, is written as one from 2 to 9, and 0 is not feasible. All without a word.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check ommx==2.9.3 ommx-pyscipopt-adapter==2.9.3 ommx-highs-adapter==2.9.3 pyscipopt==6.3.0 highspy==1.16.0

cat > seen.py <<'PY'
import importlib.metadata

import highspy
import ommx.v1 as ommx
import pyscipopt
from ommx_pyscipopt_adapter import OMMXPySCIPOptAdapter


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    return f"{model.getObjVal():g}"


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(path)
    solver.run()
    return f"{solver.getObjectiveValue():g}"


print("ommx", importlib.metadata.version("ommx"), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for words, side, bound in (
    ("UP 9", "", " UP bnd x 9\n"),
    ("UP 0", "", " UP bnd x 0\n"),
    ("an objective with a side of 10", " obj 10", " UP bnd x 9\n"),
):
    text = f"NAME own\nROWS\n N obj\n G r\nCOLUMNS\n x obj 1 r 1\nRHS\n rhs r -100{side}\nBOUNDS\n{bound}ENDATA\n"
    with open("own.mps", "w") as file:
        file.write(text)
    instance = ommx.Instance.load_mps("own.mps")
    bounds = instance.decision_variables[0].bound
    optimum = OMMXPySCIPOptAdapter.solve(instance).objective
    print(f"{words}: SCIP {scip('own.mps')}, HiGHS {highs('own.mps')}, ommx {optimum:g} (x from {bounds.lower:g} to {bounds.upper:g})")
x = ommx.DecisionVariable.semi_continuous(0, lower=2, upper=9)
y = ommx.DecisionVariable.continuous(1, lower=0, upper=9)
instance = ommx.Instance.from_components(decision_variables=[x, y], objective=x + y, constraints=[x + y >= 1], sense=ommx.Instance.MINIMIZE)
feasible = instance.evaluate({0: 0, 1: 1})
instance.save_mps("written.mps", compress=False)
print(f"a semi-continuous x: x 0, y 1 has {feasible.objective:g}, feasible {feasible.feasible}; written: SCIP {scip('written.mps')}, HiGHS {highs('written.mps')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
ommx 2.9.3 PySCIPOpt 6.3.0 HiGHS 1.16.0
UP 9: SCIP 0, HiGHS 0, ommx 0 (x from 0 to 9)
UP 0: SCIP 0, HiGHS 0, ommx -100 (x from -inf to 0)
an objective with a side of 10: SCIP -10, HiGHS -10, ommx 0 (x from 0 to 9)
a semi-continuous x: x 0, y 1 has 1, feasible False; written: SCIP 2, HiGHS 2
SEEN
