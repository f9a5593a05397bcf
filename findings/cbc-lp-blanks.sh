#!/usr/bin/env bash
# An LP file without blanks around + and <=, as people write it: one would expect the model with them. Seen with CBC of
# cbcbox 2.935, SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0 and GLPK 5.0 (swiglpk 5.0.13): without a word CBC takes `x+y`
# and `2x` for the names of further columns, and loses a row `x + y<=50`: "Optimal" is another optimum.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 swiglpk==5.0.13
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pyscipopt
import swiglpk


def scip(path):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    return f"{model.getStatus()} {model.getObjVal():g}" if model.getStatus() == "optimal" else model.getStatus()


def highs(path):
    solver = highspy.Highs()
    solver.silent()
    if solver.readModel(path) == highspy.HighsStatus.kError:
        return "refused"
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus())
    return f"{status} {solver.getObjectiveValue():g}" if status == "Optimal" else status


def cbc(path, program=cbcbox.cbc_bin_path()):
    subprocess.run([program, path, "-solve", "-solution", "own.sol"], capture_output=True, check=True)
    with open("own.sol") as file:
        words = file.readline().split()
    return f"{words[0]} {float(words[-1]):g}"


def glpk(path):
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    problem, options = swiglpk.glp_create_prob(), swiglpk.glp_iocp()
    if path.endswith(".mps"):
        failed = swiglpk.glp_read_mps(problem, swiglpk.GLP_MPS_FILE, None, path)
    else:
        failed = swiglpk.glp_read_lp(problem, None, path)
    if failed:
        return "refused"
    swiglpk.glp_init_iocp(options)
    options.presolve = swiglpk.GLP_ON
    if error := swiglpk.glp_intopt(problem, options):
        return {swiglpk.GLP_EBOUND: "bounds are wrong"}.get(error, f"error {error}")
    return f"{'Optimal' if swiglpk.glp_mip_status(problem) == swiglpk.GLP_OPT else '-'} {swiglpk.glp_mip_obj_val(problem):g}"


for row in ("x + y <= 50", "x+y <= 50", "x + y<=50", "2 x + y <= 50", "2x + y <= 50"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x + y\nSubject To\n r: {row}\nBounds\n x <= 40\n y <= 40\nEnd\n")
    print(f"{row}:", ", ".join(f"{solver.__name__} {solver('own.lp')}" for solver in (scip, highs, glpk, cbc)))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
x + y <= 50: scip optimal 50, highs Optimal 50, glpk Optimal 50, cbc Optimal 50
x+y <= 50: scip optimal 50, highs Optimal 50, glpk Optimal 50, cbc Optimal 80
x + y<=50: scip optimal 50, highs Optimal 50, glpk Optimal 50, cbc Optimal 80
2 x + y <= 50: scip optimal 45, highs Optimal 45, glpk Optimal 45, cbc Optimal 45
2x + y <= 50: scip optimal 45, highs Optimal 45, glpk Optimal 45, cbc Optimal 80
SEEN
