#!/usr/bin/env bash
# A settings file of SCIP with an integer beyond 32 bits: one would expect an error, as for 2147483648.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0): the number is cut to its lowest 32 bits without a word, and only what is out of
# the parameter's range after that is refused. A limit of 5 billion cuts becomes one of 705 million, and 2**32 becomes 0.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0
cat > seen.py <<'PY'
import pyscipopt

print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for value in ("2147483647", "2147483648", "4294967296", "5000000000", "-4294967295"):
    with open("own.set", "w") as file:
        file.write(f"separating/maxcuts = {value}\n")
    model = pyscipopt.Model()
    try:
        model.readParams("own.set")
        print(value, "is read as", model.getParam("separating/maxcuts"))
    except Exception:
        print(value, "is refused")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
2147483647 is read as 2147483647
2147483648 is refused
4294967296 is read as 0
5000000000 is read as 705032704
-4294967295 is read as 1
SEEN
