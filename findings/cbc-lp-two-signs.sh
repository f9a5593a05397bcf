#!/usr/bin/env bash
# `- -3 y` in an LP file, as programs write a negative number after a sign: one would expect `+ 3 y`, or an error. Seen
# with CBC of cbcbox 2.935 and of PuLP 3.3.2, SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and GLPK 5.0 (swiglpk 5.0.13):
# SCIP and HiGHS read it so, GLPK refuses any two signs, and both CBC make a third column of it, drop all names (x0, x1,
# x2) and say "Optimal" of another model. `+ +3 y` costs the names too; `+ -3 y` they read well.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 pulp==3.3.2 swiglpk==5.0.13
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pulp
import pyscipopt
import swiglpk


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    return f"{model.getObjVal():g} of {model.getNVars(transformed=False)} columns"


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(path)
    solver.run()
    return f"{solver.getObjectiveValue():g} of {solver.getNumCol()} columns"


def glpk(path):
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    return "refused" if swiglpk.glp_read_lp(swiglpk.glp_create_prob(), None, path) else "read"


def cbc(path, program=cbcbox.cbc_bin_path()):
    subprocess.run([program, path, "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        status, *columns = [line.split() for line in file if line.strip()]
    return f"{status[0]} {float(status[-1]):g} of {', '.join(column[1] for column in columns)}"


def pulps(path):
    return cbc(path, pulp.PULP_CBC_CMD().path)


for term in ("+ 3 y", "- -3 y", "+ +3 y", "+ -3 y"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x + 0.5 y\nSubject To\n r: x {term} <= 6\nBounds\n x <= 10\n y <= 4\nEnd\n")
    print(f"x {term} <= 6:", "; ".join(f"{of.__name__} {of('own.lp')}" for of in (scip, highs, glpk, cbc, pulps)))
PY
venv/bin/python seen.py 2> errors.txt | grep '^x ' | tee seen.txt
diff seen.txt - <<'SEEN'
x + 3 y <= 6: scip 6 of 2 columns; highs 6 of 2 columns; glpk read; cbc Optimal 6 of x, y; pulps Optimal 6 of x, y
x - -3 y <= 6: scip 6 of 2 columns; highs 6 of 2 columns; glpk refused; cbc Optimal 12 of x0, x1, x2; pulps Optimal 12 of x0, x1, x2
x + +3 y <= 6: scip 6 of 2 columns; highs 6 of 2 columns; glpk refused; cbc Optimal 6 of x0, x1, x2; pulps Optimal 6 of x0, x1, x2
x + -3 y <= 6: scip 12 of 2 columns; highs 12 of 2 columns; glpk refused; cbc Optimal 12 of x, y; pulps Optimal 12 of x, y
SEEN
