#!/usr/bin/env bash
# A propagator of PySCIPOpt that defines propexec alone, as its base class has all other callbacks: one would expect
# that it is called in presolving for nothing. Seen with PySCIPOpt 6.3.0: the base class takes three arguments where it
# gets thirteen, and the solve ends with "unspecified error". With presolmaxrounds=0, or with a `proppresol` of its own
# that takes any, it solves.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt
from pyscipopt import SCIP_PRESOLTIMING, SCIP_PROPTIMING, SCIP_RESULT


class Plain(pyscipopt.Prop):
    def propexec(self, proptiming):
        return {"result": SCIP_RESULT.DIDNOTRUN}


class Presolving(Plain):
    def proppresol(self, *arguments):
        return {"result": SCIP_RESULT.DIDNOTRUN}


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for kind, rounds in ((Plain, -1), (Plain, 0), (Presolving, -1)):
    draw, model = random.Random(1), pyscipopt.Model()
    model.hideOutput()
    variables = [model.addVar(vtype="B", obj=-draw.randint(10, 40)) for _ in range(20)]
    for _ in range(5):
        model.addCons(sum(draw.randint(5, 30) * each for each in variables) <= 150)
    model.includeProp(kind(), "own", "", 1, rounds, 1, SCIP_PRESOLTIMING.FAST, SCIP_PROPTIMING.BEFORELP)
    try:
        model.optimize()
        print(f"{kind.__name__}, presolmaxrounds {rounds}:", model.getStatus())
    except Exception as error:
        print(f"{kind.__name__}, presolmaxrounds {rounds}:", error)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
Plain, presolmaxrounds -1: SCIP: unspecified error!
Plain, presolmaxrounds 0: optimal
Presolving, presolmaxrounds -1: optimal
SEEN
