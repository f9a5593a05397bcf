#!/usr/bin/env bash
# A row of an LP file with a constant on its left, `x + 3 <= 5`: one would expect `x <= 2`, or a refusal as of SCIP and
# GLPK. Seen with HiGHS 1.16.0, SCIP 10.0 (PySCIPOpt 6.3.0) and GLPK 5.0 (swiglpk 5.0.13): HiGHS leaves the constant out;
# `readModel` returns kWarning, which whoever asks for kError alone does not see, and the answer is "Optimal".
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 swiglpk==5.0.13
cat > seen.py <<'PY'
import highspy
import pyscipopt
import swiglpk


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    try:
        model.readProblem(path)
    except OSError:
        return "refused"
    model.optimize()
    return f"{model.getStatus()} {model.getObjVal():g}"


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    read = solver.readModel(path)
    solver.run()
    return f"{read.name}, {solver.modelStatusToString(solver.getModelStatus())} {solver.getObjectiveValue():g}"


def glpk(path):
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    problem = swiglpk.glp_create_prob()
    if swiglpk.glp_read_lp(problem, None, path):
        return "refused"
    swiglpk.glp_simplex(problem, None)
    return f"{swiglpk.glp_get_obj_val(problem):g}"


for row in ("x + y <= 6", "x + y - 6 <= 0", "x + 3 <= 5"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x + y\nSubject To\n r: {row}\nBounds\n x <= 40\n y <= 3\nEnd\n")
    print(f"{row}: HiGHS {highs('own.lp')}, SCIP {scip('own.lp')}, GLPK {glpk('own.lp')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
x + y <= 6: HiGHS kOk, Optimal 6, SCIP optimal 6, GLPK 6
x + y - 6 <= 0: HiGHS kWarning, Optimal 0, SCIP refused, GLPK refused
x + 3 <= 5: HiGHS kWarning, Optimal 8, SCIP refused, GLPK refused
SEEN
