#!/usr/bin/env bash
# An upper bound of 1e20 in an LP file, "no bound" for many who write one: one would expect the same of every solver.
# Seen with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, GLPK 5.0 (swiglpk 5.0.13) and CBC of cbcbox 2.935: from 1e20 on
# it is infinite for SCIP and HiGHS, so that the model is unbounded. For CBC and GLPK it is a number, and 1e20 is
# optimal.
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


for bound in ("1e19", "1e20", "1e25", "inf"):
    with open("own.lp", "w") as file:
        file.write(f"Maximize\n obj: x\nSubject To\n r: x + y >= 0\nBounds\n x <= {bound}\n y <= 40\nEnd\n")
    solvers = (scip, highs, glpk, cbc) if bound != "inf" else (scip, highs)
    print(f"x <= {bound}:", ", ".join(f"{solver.__name__} {solver('own.lp')}" for solver in solvers))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
x <= 1e19: scip optimal 1e+19, highs Optimal 1e+19, glpk Optimal 1e+19, cbc Optimal 1e+19
x <= 1e20: scip unbounded, highs Unbounded, glpk Optimal 1e+20, cbc Optimal 1e+20
x <= 1e25: scip unbounded, highs Unbounded, glpk Optimal 1e+25, cbc Optimal 1e+25
x <= inf: scip unbounded, highs Unbounded
SEEN
