#!/usr/bin/env bash
# A variable that is bounded twice, in an LP file by Bounds and by Binaries, in an MPS file by two lines of BOUNDS: one
# would expect the same model of every solver, or a refusal.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: nobody says a word. In an MPS file SCIP takes the last bound
# and HiGHS the first. In an LP file SCIP's Binaries end an upper bound of 5 or a free variable that stood before them,
# HiGHS keeps the 5 (so a binary may be 5) and makes a free binary one without a lower bound.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    x = model.getVars()[0]
    return f"[{x.getLbOriginal():g}, {x.getUbOriginal():g}]"


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(path)
    read = solver.getLp()
    return f"[{read.col_lower_[0]:g}, {read.col_upper_[0]:g}]"


def show(what, path, text):
    with open(path, "w") as file:
        file.write(text)
    print(f"{what}: SCIP {scip(path)}, HiGHS {highs(path)}".replace("1e+20", "inf"))


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__, "HiGHS", highspy.Highs().version())
for sections in ("Bounds\n x <= 5\nBinaries\n x", "Binaries\n x\nBounds\n x <= 5", "Bounds\n x free\nBinaries\n x"):
    show(" ".join(sections.split()), "own.lp", f"Minimize\n obj: x\nSubject To\n r: x >= -100\n{sections}\nEnd\n")
columns = "NAME own\nROWS\n N obj\n G r\nCOLUMNS\n x obj 1 r 1\nRHS\n rhs r -100\nBOUNDS\n"
for first, second in (("UP 4", "UP 9"), ("UP 4", "FR"), ("LO 2", "MI"), ("BV", "UP 5"), ("FR", "LO 1")):
    lines = (f" {kind} bnd x {value}\n" for kind, _, value in (each.partition(" ") for each in (first, second)))
    show(f"{first} then {second}", "own.mps", columns + "".join(lines) + "ENDATA\n")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0 HiGHS 1.16.0
Bounds x <= 5 Binaries x: SCIP [0, 1], HiGHS [0, 5]
Binaries x Bounds x <= 5: SCIP [0, 5], HiGHS [0, 5]
Bounds x free Binaries x: SCIP [0, 1], HiGHS [-inf, 1]
UP 4 then UP 9: SCIP [0, 9], HiGHS [0, 4]
UP 4 then FR: SCIP [-inf, inf], HiGHS [0, 4]
LO 2 then MI: SCIP [-inf, inf], HiGHS [2, inf]
BV then UP 5: SCIP [0, 5], HiGHS [0, 1]
FR then LO 1: SCIP [1, inf], HiGHS [-inf, inf]
SEEN
