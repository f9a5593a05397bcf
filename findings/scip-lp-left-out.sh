#!/usr/bin/env bash
# SCIP writes a model as LP or MPS that has a constraint of another kind than these formats know: one would expect an
# error, as for .opb. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the file is written without the constraint, which is left
# as a comment (LP) or in a header that counts it (MPS), and SCIP itself reads another model back, with another optimum.
# Only .cip keeps all. XOR is left out of .lp and .mps too, though three rows could express it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt


def disjunction():
    model = pyscipopt.Model("disjunction")
    x, y = (model.addVar(name, ub=10) for name in "xy")
    model.addCons(x + y >= 1)
    model.addConsDisjunction([x >= 5, y >= 4])
    model.setObjective(x + y)
    return model


def cardinality():
    model = pyscipopt.Model("cardinality")
    each = [model.addVar(f"x{k}", ub=10) for k in range(4)]
    model.addCons(pyscipopt.quicksum(each) <= 35)
    model.addConsCardinality(each, 2)
    model.setObjective(pyscipopt.quicksum(each), "maximize")
    return model


def xor():
    model = pyscipopt.Model("xor")
    each = [model.addVar(f"b{k}", vtype="B") for k in range(3)]
    model.addCons(pyscipopt.quicksum(each) <= 3)
    model.addConsXor(each, True)
    model.setObjective(pyscipopt.quicksum(each))
    return model


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for build in (disjunction, cardinality, xor):
    model = build()
    model.hideOutput()
    optima = []
    for kind in ("lp", "mps", "cip"):
        model.writeProblem(f"own.{kind}", verbose=False)
        read = pyscipopt.Model()
        read.hideOutput()
        read.readProblem(f"own.{kind}")
        read.optimize()
        optima.append(f"{kind} {read.getObjVal():g}")
    model.optimize()
    print(f"{build.__name__}: {model.getObjVal():g}, read back from", ", ".join(optima))
PY
venv/bin/python seen.py | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
disjunction: 4, read back from lp 1, mps 1, cip 4
cardinality: 20, read back from lp 35, mps 35, cip 20
xor: 1, read back from lp 0, mps 0, cip 1
SEEN
