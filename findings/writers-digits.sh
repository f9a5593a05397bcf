#!/usr/bin/env bash
# A side of a row with 14 digits, which every double holds, written to files: one would expect the number. Seen with PuLP
# 3.3.2, GLPK 5.0 (swiglpk 5.0.13), SCIP 10.0 (PySCIPOpt 6.3.0) and HiGHS 1.16.0: PuLP writes 12 digits to LP and 13 to MPS
# files, and reads 8 of CBC's solution, so that its own optimum breaks the row by 98766; GLPK's MPS of fixed columns has
# 8, SCIP's files and GLPK's LP have 15, so that 1/3 is another number in each, and HiGHS writes all 17.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0 swiglpk==5.0.13 pulp==3.3.2
cat > seen.py <<'PY'
import re

import highspy
import pulp
import pyscipopt
import swiglpk

SIDE, THIRD = 12345678901234.0, 1 / 3


def written(path):
    with open(path) as file:
        numbers = {float(each) for each in re.findall(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", file.read())}
    side, third = (min(numbers, key=lambda number: abs(number - wanted)) for wanted in (SIDE, THIRD))
    return f"side {side - SIDE:+g}, 1/3 {'exact' if third == THIRD else f'{third - THIRD:+.0e}'}"


problem, x, y = pulp.LpProblem("own", pulp.LpMaximize), pulp.LpVariable("x", 0), pulp.LpVariable("y", 0, 9)
problem += x + 0 * y
problem += x + THIRD * y <= SIDE
problem.writeLP("pulp.lp")
problem.writeMPS("pulp.mps")
model = pyscipopt.Model()
a, b = model.addVar("a"), model.addVar("b", ub=9)
model.addCons(a + THIRD * b <= SIDE)
solver = highspy.Highs()
solver.silent()
c, d = solver.addVariable(), solver.addVariable(0, 9)
solver.addConstr(c + THIRD * d <= SIDE)
swiglpk.glp_term_out(swiglpk.GLP_OFF)
other, columns, values = swiglpk.glp_create_prob(), swiglpk.intArray(3), swiglpk.doubleArray(3)
swiglpk.glp_add_rows(other, 1)
swiglpk.glp_add_cols(other, 2)
columns[1], columns[2], values[1], values[2] = 1, 2, 1.0, THIRD
swiglpk.glp_set_mat_row(other, 1, 2, columns, values)
swiglpk.glp_set_row_bnds(other, 1, swiglpk.GLP_UP, 0, SIDE)
swiglpk.glp_write_lp(other, None, "glpk.lp")
swiglpk.glp_write_mps(other, swiglpk.GLP_MPS_DECK, None, "glpk.mps")
for kind in ("lp", "mps"):
    model.writeProblem(f"scip.{kind}", verbose=False)
    solver.writeModel(f"highs.{kind}")
    print(*(f"{name}.{kind}: {written(f'{name}.{kind}')}" for name in ("pulp", "glpk", "scip", "highs")), sep="\n")
problem.solve(pulp.PULP_CBC_CMD(msg=False))
print(f"PuLP with CBC: largest x {x.value() - SIDE:+g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
pulp.lp: side -34, 1/3 -3e-13
glpk.lp: side +0, 1/3 -3e-16
scip.lp: side +0, 1/3 -3e-16
highs.lp: side +0, 1/3 exact
pulp.mps: side -4, 1/3 -3e-14
glpk.mps: side +98766, 1/3 -3e-11
scip.mps: side +0, 1/3 -3e-16
highs.mps: side +0, 1/3 exact
PuLP with CBC: largest x +98766
SEEN
