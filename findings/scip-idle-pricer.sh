#!/usr/bin/env bash
# A pricer that never adds a column: one would expect the tree that is there without it. Seen with SCIP 10.0 (PySCIPOpt
# 6.3.0): three to eight times as many nodes. A branching rule, a separator, a heuristic, an event handler and a presolver
# that do nothing change no node.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import random

import pyscipopt
from pyscipopt import SCIP_EVENTTYPE, SCIP_PRESOLTIMING, SCIP_RESULT


class Branchrule(pyscipopt.Branchrule):
    def branchexeclp(self, allowaddcons):
        return {"result": SCIP_RESULT.DIDNOTRUN}


class Sepa(pyscipopt.Sepa):
    def sepaexeclp(self):
        return {"result": SCIP_RESULT.DIDNOTRUN}


class Heur(pyscipopt.Heur):
    def heurexec(self, heurtiming, nodeinfeasible):
        return {"result": SCIP_RESULT.DIDNOTRUN}


class Presol(pyscipopt.Presol):
    def presolexec(self, nrounds, presoltiming):
        return {"result": SCIP_RESULT.DIDNOTRUN}


class Eventhdlr(pyscipopt.Eventhdlr):
    def eventinit(self):
        self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexit(self):
        self.model.dropEvent(SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event):
        pass


class Pricer(pyscipopt.Pricer):
    def pricerredcost(self):
        return {"result": SCIP_RESULT.SUCCESS}

    def pricerfarkas(self):
        return {"result": SCIP_RESULT.SUCCESS}


PLUGINS = {
    "branching rule": lambda model: model.includeBranchrule(Branchrule(), "own", "", 99999, -1, 1),
    "separator": lambda model: model.includeSepa(Sepa(), "own", "", priority=99999, freq=1),
    "heuristic": lambda model: model.includeHeur(Heur(), "own", "", "o", priority=99999, freq=1),
    "presolver": lambda model: model.includePresol(Presol(), "own", "", 1, -1, SCIP_PRESOLTIMING.FAST),
    "event handler": lambda model: model.includeEventhdlr(Eventhdlr(), "own", ""),
    "pricer": lambda model: model.includePricer(Pricer(), "own", ""),
}


def nodes(instance, include=None):
    draw, model = random.Random(instance), pyscipopt.Model()
    model.hideOutput()
    variables = [model.addVar(vtype="B") for _ in range(60)]
    for _ in range(5):
        sizes = [draw.randint(10, 60) for _ in variables]
        model.addCons(pyscipopt.quicksum(s * v for s, v in zip(sizes, variables)) <= sum(sizes) // 2)
    model.setObjective(pyscipopt.quicksum(draw.randint(10, 60) * v for v in variables), "maximize")
    if include:
        include(model)
    model.optimize()
    return model.getNTotalNodes()


INSTANCES = 0, 1, 3, 4
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
usual = [nodes(instance) for instance in INSTANCES]
print("nodes without:", *usual)
for name, include in PLUGINS.items():
    print(f"with a plugin that does nothing, {name}:", *(nodes(instance, include) for instance in INSTANCES))
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
nodes without: 116 48 62 165
with a plugin that does nothing, branching rule: 116 48 62 165
with a plugin that does nothing, separator: 116 48 62 165
with a plugin that does nothing, heuristic: 116 48 62 165
with a plugin that does nothing, presolver: 116 48 62 165
with a plugin that does nothing, event handler: 116 48 62 165
with a plugin that does nothing, pricer: 395 383 246 460
SEEN
