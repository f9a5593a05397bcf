#!/usr/bin/env bash
# An integer column of an MPS file that has a lower bound alone: one would expect no upper bound, as HiGHS and SCIP read
# it. Seen with GLPK 5.0 (swiglpk 5.0.13), SCIP 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, CBC of cbcbox 2.935 and OR-Tools
# 9.15: an integer column without any bound is 0 or 1 for all. A line LO or MI makes it unbounded above for all but
# GLPK, which keeps the 1: another optimum, and with LO 2 wrong bounds. Only PL says the same to all.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 cbcbox==2.935 swiglpk==5.0.13 ortools==9.15.6755
cat > seen.py <<'PY'
import subprocess

import cbcbox
import highspy
import pyscipopt
import swiglpk
from ortools.linear_solver.python import model_builder

MPS = """NAME          OWN
ROWS
 N  OBJ
 {sense}  ROW
COLUMNS
{columns}RHS
    RHS       ROW       {side:>12}
BOUNDS
{bounds}ENDATA
"""
COLUMN = "    X         OBJ       {cost:>12}   ROW                1.0\n"
BEGIN, END = (f"    MARK      'MARKER'                 '{word}'\n" for word in ("INTORG", "INTEND"))


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


def ortools(path):
    model, solver = model_builder.ModelBuilder(), model_builder.ModelSolver("SCIP")
    model.import_from_mps_file(path)
    status = solver.solve(model)
    return f"{status.name} {solver.objective_value:g}" if status == model_builder.SolveStatus.OPTIMAL else status.name


for kind, value in (("LO", "0.0"), ("MI", ""), ("LO", "2.0"), ("PL", "")):
    columns = BEGIN + COLUMN.format(cost="-1.0") + END
    bounds = f" {kind} BND       X         {value:>12}\n"
    with open("own.mps", "w") as file:
        file.write(MPS.format(sense="L", columns=columns, side="100.5", bounds=bounds))
    for solver in (scip, highs, ortools, cbc, glpk):
        print(f"{kind} {value}, {solver.__name__}: {solver('own.mps')}".replace(" ,", ","))
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
LO 0.0, scip: optimal -100
LO 0.0, highs: Optimal -100
LO 0.0, ortools: OPTIMAL -100
LO 0.0, cbc: Optimal -100
LO 0.0, glpk: Optimal -1
MI, scip: optimal -100
MI, highs: Optimal -100
MI, ortools: OPTIMAL -100
MI, cbc: Optimal -100
MI, glpk: Optimal -1
LO 2.0, scip: optimal -100
LO 2.0, highs: Optimal -100
LO 2.0, ortools: OPTIMAL -100
LO 2.0, cbc: Optimal -100
LO 2.0, glpk: bounds are wrong
PL, scip: optimal -100
PL, highs: Optimal -100
PL, ortools: OPTIMAL -100
PL, cbc: Optimal -100
PL, glpk: Optimal -100
SEEN
