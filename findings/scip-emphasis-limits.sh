#!/usr/bin/env bash
# Limits, seeds and priorities that were set before a predefined setting: one would expect the same of every setting.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the emphasis DEFAULT sets all of SCIP's parameters back, also limits, seeds and
# which rule branches, all others leave these. setHeuristics sets the frequency that a person gave back before it
# changes it; setSeparating sets those of separators back, but leaves separating/maxrounds, also for OFF.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt
from pyscipopt import SCIP_PARAMEMPHASIS, SCIP_PARAMSETTING

OWN = {"limits/nodes": 7, "randomization/randomseedshift": 4, "branching/random/priority": 99999}
LEVELS = {"separating/maxrounds": 3, "separating/gomory/freq": 7, "heuristics/rins/freq": 3, "presolving/maxrounds": 2}


def model(parameters):
    made = pyscipopt.Model()
    made.hideOutput()
    made.setParams(parameters)
    return made


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
print("set", OWN)
for name in ("FEASIBILITY", "OPTIMALITY", "NUMERICS", "EASYCIP", "DEFAULT"):
    each = model(OWN)
    each.setEmphasis(getattr(SCIP_PARAMEMPHASIS, name))
    print(f"emphasis {name}:", [each.getParam(parameter) for parameter in OWN])
print("set", LEVELS)
for name in ("DEFAULT", "FAST", "AGGRESSIVE", "OFF"):
    each, level = model(LEVELS), getattr(SCIP_PARAMSETTING, name)
    for method in (each.setSeparating, each.setHeuristics, each.setPresolve):
        method(level)
    print(f"{name} of separating, heuristics and presolving:", [each.getParam(parameter) for parameter in LEVELS])
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
set {'limits/nodes': 7, 'randomization/randomseedshift': 4, 'branching/random/priority': 99999}
emphasis FEASIBILITY: [7, 4, 99999]
emphasis OPTIMALITY: [7, 4, 99999]
emphasis NUMERICS: [7, 4, 99999]
emphasis EASYCIP: [7, 4, 99999]
emphasis DEFAULT: [-1, 0, -100000]
set {'separating/maxrounds': 3, 'separating/gomory/freq': 7, 'heuristics/rins/freq': 3, 'presolving/maxrounds': 2}
DEFAULT of separating, heuristics and presolving: [3, 10, 15, -1]
FAST of separating, heuristics and presolving: [3, 10, -1, -1]
AGGRESSIVE of separating, heuristics and presolving: [3, 10, 8, -1]
OFF of separating, heuristics and presolving: [3, -1, -1, 0]
SEEN
