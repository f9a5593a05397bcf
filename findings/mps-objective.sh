#!/usr/bin/env bash
# A right-hand side of the objective in an MPS file, and OBJNAME of its second row N: one would expect one optimum. Seen
# with SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, CBC of cbcbox 2.935 and GLPK 5.0 (swiglpk 5.0.13): the side is the
# negative of a constant, but for GLPK the constant. HiGHS passes over OBJNAME without a word; GLPK refuses it.
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

TEXT = """NAME          OWN
{name}ROWS
 N  OBJ
 N  OTHER
 G  ROW
COLUMNS
    X         OBJ                1.0   ROW                1.0
    X         OTHER             -1.0
RHS
    RHS       ROW                2.0{side}
BOUNDS
 UP BND       X                  9.0
ENDATA
"""


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


for what, name, side in (
    ("neither", "", ""),
    ("a side of 10", "", "   OBJ               10.0"),
    ("OBJNAME", "OBJNAME\n    OTHER\n", ""),
):
    with open("own.mps", "w") as file:
        file.write(TEXT.format(name=name, side=side))
    print(f"{what}:", ", ".join(f"{solver.__name__} {solver('own.mps')}" for solver in (scip, highs, cbc, glpk)))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
neither: scip optimal 2, highs Optimal 2, cbc Optimal 2, glpk Optimal 2
a side of 10: scip optimal -8, highs Optimal -8, cbc Optimal -8, glpk Optimal 12
OBJNAME: scip optimal -9, highs Optimal 2, cbc Optimal -9, glpk refused
SEEN
