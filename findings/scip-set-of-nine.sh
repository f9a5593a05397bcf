#!/usr/bin/env bash
# A settings file of all parameters that SCIP 9.2 writes, at their defaults, read by SCIP 10: one would expect warnings of
# the parameters that are gone, and the rest. Seen with SCIP 9.2 (PySCIPOpt 5.5.0) and SCIP 10.0 (PySCIPOpt 6.3.0): a default
# of 9 is out of the range of 10, so that reading ends there with an error, when 14 parameters have the values of 9 already,
# such as how often RINS and crossover run. Whoever passes over the error solves as neither does.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
cat > write.py <<'PY'
import pyscipopt

model = pyscipopt.Model()
model.hideOutput()
model.writeParams("nine.set", comments=False, onlychanged=False)
PY
cat > seen.py <<'PY'
import pyscipopt

model = pyscipopt.Model()
model.hideOutput()
before = model.getParams()
try:
    model.readParams("nine.set")
    outcome = "returns"
except Exception as error:
    outcome = f"raises {type(error).__name__}"
after = model.getParams()
print(f"PySCIPOpt {pyscipopt.__version__}: {outcome}, {sum(before[name] != after[name] for name in before)} parameters are others")
for name in ("heuristics/rins/freq", "heuristics/crossover/freq", "propagating/symmetry/sstleadervartype"):
    print(f"{name}: {before[name]}, then {after[name]}")
PY
python3 -m venv nine && nine/bin/pip install --quiet --disable-pip-version-check pyscipopt==5.5.0
python3 -m venv ten && ten/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
nine/bin/python write.py > written.txt 2> errors.txt
{ nine/bin/python seen.py && ten/bin/python seen.py; } 2>> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
PySCIPOpt 5.5.0: returns, 0 parameters are others
heuristics/rins/freq: 25, then 25
heuristics/crossover/freq: 30, then 30
propagating/symmetry/sstleadervartype: 14, then 14
PySCIPOpt 6.3.0: raises ValueError, 14 parameters are others
heuristics/rins/freq: 15, then 25
heuristics/crossover/freq: 15, then 30
propagating/symmetry/sstleadervartype: 6, then 6
SEEN
