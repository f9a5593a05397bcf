#!/usr/bin/env bash
# GLPK writes a model that is maximised, with a constant, and reads it again: one would expect the optimum of 22. Seen with
# GLPK 5.0 (swiglpk 5.0.13), SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: an LP file lacks the constant; an MPS file lacks
# the sense, so that all minimise, and has the constant with a sign that only GLPK reads back.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check swiglpk==5.0.13 pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt
import swiglpk


def glpk(problem):
    options = swiglpk.glp_iocp()
    swiglpk.glp_init_iocp(options)
    options.presolve = swiglpk.GLP_ON
    swiglpk.glp_intopt(problem, options)
    return f"{swiglpk.glp_mip_obj_val(problem):g}"


swiglpk.glp_term_out(swiglpk.GLP_OFF)
problem = swiglpk.glp_create_prob()
swiglpk.glp_set_obj_dir(problem, swiglpk.GLP_MAX)
swiglpk.glp_add_rows(problem, 1)
swiglpk.glp_add_cols(problem, 2)
columns, values = swiglpk.intArray(3), swiglpk.doubleArray(3)
for place, (name, cost) in enumerate((("x", 3.0), ("y", 2.0)), start=1):
    swiglpk.glp_set_col_name(problem, place, name)
    swiglpk.glp_set_col_bnds(problem, place, swiglpk.GLP_LO, 0, 0)
    swiglpk.glp_set_obj_coef(problem, place, cost)
    columns[place], values[place] = place, 1.0
swiglpk.glp_set_col_kind(problem, 1, swiglpk.GLP_IV)
swiglpk.glp_set_obj_coef(problem, 0, 7.0)
swiglpk.glp_set_row_name(problem, 1, "row")
swiglpk.glp_set_row_bnds(problem, 1, swiglpk.GLP_DB, 1.0, 5.0)
swiglpk.glp_set_mat_row(problem, 1, 2, columns, values)
swiglpk.glp_write_lp(problem, None, "own.lp")
swiglpk.glp_write_mps(problem, swiglpk.GLP_MPS_FILE, None, "own.mps")
print("the model:", glpk(problem))
for path in ("own.lp", "own.mps"):
    again = swiglpk.glp_create_prob()
    if path == "own.lp":
        swiglpk.glp_read_lp(again, None, path)
    else:
        swiglpk.glp_read_mps(again, swiglpk.GLP_MPS_FILE, None, path)
    model, solver = pyscipopt.Model(), highspy.Highs()
    model.hideOutput()
    model.readProblem(path)
    model.optimize()
    solver.silent()
    solver.readModel(path)
    solver.run()
    print(f"{path}: GLPK {glpk(again)}, SCIP {model.getObjVal():g}, HiGHS {solver.getObjectiveValue():g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
the model: 22
own.lp: GLPK 15, SCIP 15, HiGHS 15
own.mps: GLPK 9, SCIP -5, HiGHS -5
SEEN
