#!/usr/bin/env bash
# The solution that another solver wrote of the same LP file, read by SCIP: one would expect a solution of 13, or a
# refusal. Seen with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and CBC of cbcbox 2.935: of the files of CBC, and of
# HiGHS in GLPK's style, SCIP knows no name, says so in a warning alone, and accepts a solution of zeros that is
# feasible. It refuses HiGHS' own style. HiGHS refuses SCIP's and CBC's; CBC starts from its own and from HiGHS', and
# passes over SCIP's.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pyscipopt

PROGRAM = cbcbox.cbc_bin_path()


def scip():
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem("own.lp")
    return model


def highs():
    solver = highspy.Highs()
    solver.silent()
    solver.readModel("own.lp")
    return solver


def by_scip(path):
    model = scip()
    try:
        solution = model.readSolFile(path)
    except Exception:
        return "refuses it"
    feasible = model.checkSol(solution, original=True, printreason=False)
    return f"reads {model.getSolObjVal(solution):g}, feasible {feasible}"


def by_highs(path):
    solver = highs()
    if solver.readSolution(path, 0) == highspy.HighsStatus.kError:
        return "refuses it"
    return f"reads {5 * solver.getSolution().col_value[0] + 3 * solver.getSolution().col_value[2]:g}"


def by_cbc(path):
    command = [PROGRAM, "own.lp", "-max", "-mipstart", path, "-solve"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "starts from 13" if "MIPStart provided solution with cost 13" in said else "has no start"


with open("own.lp", "w") as file:
    file.write("Maximize\n obj: 5 x + 4 y + 3 z\nSubject To\n r1: 2 x + 3 y + z <= 5\n r2: 4 x + y + 2 z <= 11\n")
    file.write(" r3: 3 x + 4 y + 2 z <= 8\nGenerals\n x y z\nEnd\n")
model, solver = scip(), highs()
model.optimize()
model.writeBestSol("scip.sol")
solver.run()
solver.writeSolution("highs.sol", 0)
solver.writeSolution("highs-glpk.sol", 3)
subprocess.run([PROGRAM, "own.lp", "-max", "-solve", "-solution", "cbc.sol"], capture_output=True, check=True)
print("SCIP", model.version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", solver.version())
for path in ("scip.sol", "highs.sol", "highs-glpk.sol", "cbc.sol"):
    print(f"{path}: SCIP {by_scip(path)}, HiGHS {by_highs(path)}, CBC {by_cbc(path)}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
scip.sol: SCIP reads 13, feasible True, HiGHS refuses it, CBC has no start
highs.sol: SCIP refuses it, HiGHS reads 13, CBC starts from 13
highs-glpk.sol: SCIP reads 0, feasible True, HiGHS refuses it, CBC has no start
cbc.sol: SCIP reads 0, feasible True, HiGHS refuses it, CBC starts from 13
SEEN
