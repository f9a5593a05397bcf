#!/usr/bin/env bash
# OBJSENSE MAX in an MPS file, read by the CBC that PuLP brings: one would expect what HiGHS answers.
# Seen with PuLP 3.3.2, whose CBC is 2.10.3, and HiGHS 1.16.0: that CBC minimises, without a word and with "Optimal".
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pulp==3.3.2 highspy==1.16.0
cat > seen.py <<'PY'
import re
import subprocess

import highspy
import pulp

program = pulp.PULP_CBC_CMD().path
version = re.search(r"Version: (\S+)", subprocess.run([program, "-quit"], capture_output=True, text=True).stdout)[1]
print("PuLP", pulp.__version__, "CBC", version, "HiGHS", highspy.Highs().version())
for sense in ("MIN", "MAX"):
    with open("own.mps", "w") as file:
        file.write(f"NAME own\nOBJSENSE\n    {sense}\nROWS\n N obj\n L row\nCOLUMNS\n x obj 1 row 1\nRHS\n rhs row 7\nENDATA\n")
    solver = highspy.Highs()
    solver.silent()
    solver.readModel("own.mps")
    solver.run()
    subprocess.run([program, "own.mps", "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        print(f"{sense}: HiGHS {solver.getObjectiveValue():g}, CBC {file.readline().strip()}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
PuLP 3.3.2 CBC 2.10.3 HiGHS 1.16.0
MIN: HiGHS 0, CBC Optimal - objective value 0.00000000
MAX: HiGHS 7, CBC Optimal - objective value 0.00000000
SEEN
