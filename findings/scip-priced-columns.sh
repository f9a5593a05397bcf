#!/usr/bin/env bash
# A column that a pricer of PySCIPOpt adds: one would expect it among the variables of the solved model. Seen with SCIP
# 10.0 (PySCIPOpt 6.3.0): getVars has the original variables alone, while getNVars counts it, and the file of the
# solution names it. Whoever sums the values of getVars gets an objective of 0 where the optimum is 2.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt


class Pricer(pyscipopt.Pricer):
    def pricerredcost(self):
        if not self.added:
            row = self.model.getTransformedCons(self.row)
            self.model.addConsCoeff(row, self.model.addVar("priced", obj=0.5, pricedVar=True), 1)
            self.added = True
        return {"result": pyscipopt.SCIP_RESULT.SUCCESS}


model, pricer = pyscipopt.Model(), Pricer()
model.hideOutput()
model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
pricer.row = model.addCons(model.addVar("x", obj=1) >= 4, separate=False, modifiable=True)
pricer.added = False
model.includePricer(pricer, "own", "one column")
model.optimize()
model.writeBestSol("own.sol")
print("SCIP", model.version(), "PySCIPOpt", pyscipopt.__version__)
print("optimum", model.getObjVal(), "by getVars", sum(v.getObj() * model.getVal(v) for v in model.getVars()))
print("getVars", [v.name for v in model.getVars()], "getNVars", model.getNVars())
print("file", [line.split()[0] for line in open("own.sol").readlines()[1:]])
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
optimum 2.0 by getVars 0.0
getVars ['x'] getNVars 2
file ['priced']
SEEN
