#!/usr/bin/env bash
# A long comment in a settings file of SCIP: one would expect that nothing in a comment is set. Seen with SCIP 10.0
# (PySCIPOpt 6.3.0): the reader takes a line of more than 1022 bytes for several, so that a comment whose 1024th byte
# begins the words of a setting sets it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for length in (1022, 1023, 1024):
    with open("own.set", "w") as file:
        file.write("#" * length + "limits/nodes = 7\n")
    model = pyscipopt.Model()
    model.readParams("own.set")
    print(f"after {length} signs of a comment: limits/nodes is", model.getParam("limits/nodes"))
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
after 1022 signs of a comment: limits/nodes is -1
after 1023 signs of a comment: limits/nodes is 7
after 1024 signs of a comment: limits/nodes is -1
SEEN
