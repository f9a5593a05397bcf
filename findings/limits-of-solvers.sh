#!/usr/bin/env bash
# Limits of a gap, of time, nodes and solutions, and models without an optimum: one would expect statuses that say
# which. Seen with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, CBC of cbcbox 2.935 and of PuLP 3.3.2 (2.10.3), all on the
# same files: at a gap of 20 % HiGHS says "Optimal" like after a proof, at a limit of nodes "Solution limit reached";
# CBC says "Stopped on iterations" for nodes and for solutions, and is successful by its exit code always; the one in
# PuLP calls an infeasible model with an unbounded relaxation "Unbounded", and HiGHS is not sure of an unbounded one.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 pulp==3.3.2
cat > seen.py <<'PY'
import random
import subprocess

import cbcbox
import highspy
import pulp
import pyscipopt


def terms(numbers):
    return " + ".join(f"{number} x{place}" for place, number in enumerate(numbers))


draw = random.Random(3)
rows = [[draw.randint(5, 60) for _ in range(60)] for _ in range(10)]
with open("knapsack.lp", "w") as file:  # its optimum is 936
    file.write(f"Maximize\n obj: {terms([draw.randint(5, 60) for _ in range(60)])}\nSubject To\n")
    file.writelines(f" r{place}: {terms(row)} <= 600\n" for place, row in enumerate(rows))
    file.write("Binaries\n " + " ".join(f"x{place}" for place in range(60)) + "\nEnd\n")
rows = [[draw.randint(0, 99) for _ in range(40)] for _ in range(5)]
with open("split.lp", "w") as file:  # market split, which takes hours
    file.write("Minimize\n obj: " + " + ".join(f"s{place} + t{place}" for place in range(5)) + "\nSubject To\n")
    file.writelines(f" r{place}: {terms(row)} + s{place} - t{place} = {sum(row) // 2}\n" for place, row in enumerate(rows))
    file.write("Binaries\n " + " ".join(f"x{place}" for place in range(40)) + "\nEnd\n")
with open("infeasible.lp", "w") as file:
    file.write("Minimize\n obj: x\nSubject To\n r: 2 x + 2 y = 1\n s: x + y <= 1\nGenerals\n x y\nEnd\n")
with open("unbounded.lp", "w") as file:
    file.write("Maximize\n obj: x\nSubject To\n r: x - y <= 1\nGenerals\n x y\nEnd\n")
with open("neither.lp", "w") as file:  # infeasible, with an unbounded relaxation
    file.write("Maximize\n obj: x + z\nSubject To\n r: x - y <= 1\n s: 2 z + 2 w = 1\nBounds\n w <= 3\n z <= 3\n")
    file.write("Generals\n x y z w\nEnd\n")
CASES = (
    ("knapsack.lp", "gap of 20 %"),
    ("split.lp", "2 seconds"),
    ("split.lp", "1 node"),
    ("split.lp", "1 solution"),
    ("split.lp", "0 seconds"),
    ("infeasible.lp", ""),
    ("unbounded.lp", ""),
    ("neither.lp", ""),
)


def scip(path, limit):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    if limit:
        values = {"gap of 20 %": ("gap", 0.2), "1 node": ("nodes", 1), "1 solution": ("solutions", 1)}
        name, value = values.get(limit) or ("time", float(limit[0]))
        model.setParam(f"limits/{name}", value)
    model.optimize()
    return model.getStatus()


def highs(path, limit):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(path)
    if limit:
        values = {"gap of 20 %": ("mip_rel_gap", 0.2), "1 node": ("mip_max_nodes", 1), "1 solution": ("mip_max_improving_sols", 1)}
        solver.setOptionValue(*(values.get(limit) or ("time_limit", float(limit[0]))))
    solver.run()
    return solver.modelStatusToString(solver.getModelStatus())


def cbc(path, limit, program=cbcbox.cbc_bin_path()):
    values = {"": (), "gap of 20 %": ("-ratio", "0.2"), "1 node": ("-maxN", "1"), "1 solution": ("-maxSol", "1")}
    options = values.get(limit, ("-sec", limit[:1]))
    subprocess.run([program, path, *options, "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        return file.readline().split(" - objective")[0].split(" (")[0]


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for path, limit in CASES:
    said = scip(path, limit), highs(path, limit), cbc(path, limit), cbc(path, limit, pulp.PULP_CBC_CMD().path)
    print("{} {}: SCIP {}, HiGHS {}, CBC {}, CBC in PuLP {}".format(path, limit, *said).replace(" :", ":"))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
knapsack.lp gap of 20 %: SCIP gaplimit, HiGHS Optimal, CBC Optimal, CBC in PuLP Optimal
split.lp 2 seconds: SCIP timelimit, HiGHS Time limit reached, CBC Stopped on time, CBC in PuLP Stopped on time
split.lp 1 node: SCIP nodelimit, HiGHS Solution limit reached, CBC Stopped on iterations, CBC in PuLP Stopped on iterations
split.lp 1 solution: SCIP sollimit, HiGHS Solution limit reached, CBC Stopped on iterations, CBC in PuLP Stopped on iterations
split.lp 0 seconds: SCIP timelimit, HiGHS Time limit reached, CBC Stopped on time, CBC in PuLP Stopped on time
infeasible.lp: SCIP infeasible, HiGHS Infeasible, CBC Integer infeasible, CBC in PuLP Integer infeasible
unbounded.lp: SCIP unbounded, HiGHS Primal infeasible or unbounded, CBC Unbounded, CBC in PuLP Unbounded
neither.lp: SCIP infeasible, HiGHS Infeasible, CBC Integer infeasible, CBC in PuLP Unbounded
SEEN
