#!/usr/bin/env bash
# Whether a row is in the first LP relaxation (SCIPsetConsInitial): one would expect that it may be said until then.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): it may be said of the problem and in rounds of presolving, but not after the
# transformation or in the first and last steps of presolving, where a plugin begins and ends.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt


class Presolver(pyscipopt.Presol):
    def say(self, when):
        try:
            self.model.setInitial(self.model.getConss()[0], False)
            said[when] = "allowed"
        except Exception:
            said[when] = "refused"

    def presolinit(self):
        self.say("presolinit")

    def presolinitpre(self):
        self.say("presolinitpre")

    def presolexec(self, rounds, timing):
        self.say("presolexec")
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTFIND}

    def presolexitpre(self):
        self.say("presolexitpre")


said, draw, model = {}, random.Random(1), pyscipopt.Model()
model.hideOutput()
variables = [model.addVar(vtype="B", obj=-draw.randint(10, 40)) for _ in range(40)]
for _ in range(8):
    model.addCons(sum(draw.randint(5, 30) * each for each in variables) <= 200)
model.includePresol(Presolver(), "own", "", 1, -1, pyscipopt.SCIP_PRESOLTIMING.FAST)
model.setInitial(model.getConss()[0], False)
print("SCIP", model.version(), "PySCIPOpt", pyscipopt.__version__)
print("problem allowed")
model.optimize()
print(*(" ".join(each) for each in said.items()), sep="\n")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
problem allowed
presolinit refused
presolinitpre refused
presolexec allowed
presolexitpre refused
SEEN
