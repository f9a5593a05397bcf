#!/usr/bin/env bash
# `run()` of HiGHS again after a limit, without any change: one would expect that it goes on where it was, as SCIP does, or
# returns at once, since its limit is reached. Seen with HiGHS 1.16.0 and SCIP 10.0 (PySCIPOpt 6.3.0): HiGHS solves again
# from the beginning, with the whole limit once more, and its `getRunTime` counts both. SCIP keeps the tree, and goes on
# when the limit is raised.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import random

import highspy
import pyscipopt


def terms(numbers):
    return " + ".join(f"{number} x{place}" for place, number in enumerate(numbers))


draw = random.Random(3)
rows = [[draw.randint(0, 99) for _ in range(40)] for _ in range(5)]
with open("split.lp", "w") as file:  # market split, which takes hours
    file.write("Minimize\n obj: " + " + ".join(f"s{place} + t{place}" for place in range(5)) + "\nSubject To\n")
    file.writelines(f" r{place}: {terms(row)} + s{place} - t{place} = {sum(row) // 2}\n" for place, row in enumerate(rows))
    file.write("Binaries\n " + " ".join(f"x{place}" for place in range(40)) + "\nEnd\n")
solver = highspy.Highs()
solver.silent()
solver.readModel("split.lp")
solver.setOptionValue("time_limit", 2.0)
solver.run()
once = solver.getRunTime()
solver.run()
print("HiGHS: the second run takes its 2 s again", 1.9 <= solver.getRunTime() - once < 10, end=", ")
solver.setOptionValue("time_limit", float("inf"))
counts = []
for _ in range(2):
    solver.setOptionValue("mip_max_nodes", 300)
    solver.run()
    counts.append(solver.getInfo().mip_node_count)
print("300 nodes are done again", min(counts) >= 300)
model = pyscipopt.Model()
model.hideOutput()
model.readProblem("split.lp")
counts = []
for most in (300, 300, 500):
    model.setParam("limits/nodes", most)
    model.optimize()
    counts.append(model.getNTotalNodes())
print("SCIP: nodes after limits of 300, 300 and 500", counts)
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
HiGHS: the second run takes its 2 s again True, 300 nodes are done again True
SCIP: nodes after limits of 300, 300 and 500 [300, 300, 500]
SEEN
