#!/usr/bin/env bash
# A column of an MPS file with `UP -3` and no lower bound: one would expect the same of every solver. Seen with SCIP
# 10.0 (PySCIPOpt 6.3.0), HiGHS 1.16.0, OR-Tools 9.15, GLPK 5.0 (swiglpk 5.0.13) and CBC of cbcbox 2.935: for SCIP,
# HiGHS and OR-Tools the lower bound stays 0 and the model is infeasible; CBC drops it, as CPLEX's manual says, and
# finds -100; GLPK reads the file and says that bounds are wrong.
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


for upper in ("-3.0", "0.0"):
    bounds = f" UP BND       X         {upper:>12}\n"
    with open("own.mps", "w") as file:
        file.write(MPS.format(sense="G", columns=COLUMN.format(cost="1.0"), side="-100.0", bounds=bounds))
    for solver in (scip, highs, ortools, cbc, glpk):
        print(f"UP {upper}, {solver.__name__}: {solver('own.mps')}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
UP -3.0, scip: infeasible
UP -3.0, highs: Infeasible
UP -3.0, ortools: INFEASIBLE
UP -3.0, cbc: Optimal -100
UP -3.0, glpk: bounds are wrong
UP 0.0, scip: optimal 0
UP 0.0, highs: Optimal 0
UP 0.0, ortools: OPTIMAL 0
UP 0.0, cbc: Optimal 0
UP 0.0, glpk: Optimal 0
SEEN
