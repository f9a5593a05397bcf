#!/usr/bin/env bash
# A settings file whose second line has a value that is no number: one would expect an exception of `readParams`, as for
# one out of range. Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and SCIP 9.2 (PySCIPOpt 5.5.0): it returns, with the lines
# before set and those after it not. A part of a number is taken: 3.5 is 3. An unknown parameter is passed over, and
# the lines after it are read.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
cat > seen.py <<'PY'
import pyscipopt

names = "limits/nodes", "limits/restarts", "limits/stallnodes"
for second in ("limits/restarts = -7", "limits/restarts = many", "limits/restarts = 3.5", "limits/nosuch = 3"):
    with open("own.set", "w") as file:
        file.write(f"limits/nodes = 7\n{second}\nlimits/stallnodes = 9\n")
    model = pyscipopt.Model()
    model.hideOutput()
    try:
        model.readParams("own.set")
        outcome = "returns"
    except Exception as error:
        outcome = f"raises {type(error).__name__}"
    print(f"PySCIPOpt {pyscipopt.__version__}, {second}: {outcome},", [model.getParam(name) for name in names])
PY
python3 -m venv nine && nine/bin/pip install --quiet --disable-pip-version-check pyscipopt==5.5.0
python3 -m venv ten && ten/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
{ nine/bin/python seen.py && ten/bin/python seen.py; } 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
PySCIPOpt 5.5.0, limits/restarts = -7: raises ValueError, [7, -1, -1]
PySCIPOpt 5.5.0, limits/restarts = many: returns, [7, -1, -1]
PySCIPOpt 5.5.0, limits/restarts = 3.5: returns, [7, 3, 9]
PySCIPOpt 5.5.0, limits/nosuch = 3: returns, [7, -1, 9]
PySCIPOpt 6.3.0, limits/restarts = -7: raises ValueError, [7, -1, -1]
PySCIPOpt 6.3.0, limits/restarts = many: returns, [7, -1, -1]
PySCIPOpt 6.3.0, limits/restarts = 3.5: returns, [7, 3, 9]
PySCIPOpt 6.3.0, limits/nosuch = 3: returns, [7, -1, 9]
SEEN
