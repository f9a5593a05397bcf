#!/usr/bin/env bash
# A row of Pyomo with two sides and a constant in its middle, `2 <= x + y + 1 <= 5`: one would expect x + y from 1 to 4 of
# every interface. Seen with Pyomo 6.10.1, PySCIPOpt 6.3.0 (SCIP 10.0) and HiGHS 1.16.0: `scip_direct` and
# `scip_persistent` subtract the constant from the upper side alone, so that the smallest x + y is 2, and with `- 1` it is 2
# for 3, which breaks the row. Files and HiGHS have both sides right. A row with one side is right in all.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyomo==6.10.1 pyscipopt==6.3.0 highspy==1.16.0

cat > seen.py <<'PY'
import pyomo.environ as pyo
import pyomo.version
import pyscipopt


def built(row, sense):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 10)), pyo.Var(bounds=(0, 10))
    model.row = pyo.Constraint(expr=row(model.x + model.y))
    model.objective = pyo.Objective(expr=model.x + model.y, sense=sense)
    return model


def by_file(model):
    model.write("own.lp")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem("own.lp")
    scip.optimize()
    return scip.getObjVal()


def by(name):
    def solved(model):
        pyo.SolverFactory(name).solve(model)
        return pyo.value(model.objective)

    return solved


WAYS = {"SCIP by .lp": by_file, **{name: by(name) for name in ("scip_direct", "scip_persistent", "highs", "appsi_highs")}}
ROWS = {
    "2 <= x + y + 1 <= 5": lambda total: (2, total + 1, 5),
    "2 <= x + y - 1 <= 5": lambda total: (2, total - 1, 5),
    "2 <= x + y + 1": lambda total: total + 1 >= 2,
}
print("Pyomo", pyomo.version.version, "PySCIPOpt", pyscipopt.__version__)
for words, row in ROWS.items():
    for way, solved in WAYS.items():
        ends = [f"{solved(built(row, sense)):g}" for sense in (pyo.minimize, pyo.maximize)]
        print(f"{words}, {way}: x + y from {ends[0]} to {ends[1]}")
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
Pyomo 6.10.1 PySCIPOpt 6.3.0
2 <= x + y + 1 <= 5, SCIP by .lp: x + y from 1 to 4
2 <= x + y + 1 <= 5, scip_direct: x + y from 2 to 4
2 <= x + y + 1 <= 5, scip_persistent: x + y from 2 to 4
2 <= x + y + 1 <= 5, highs: x + y from 1 to 4
2 <= x + y + 1 <= 5, appsi_highs: x + y from 1 to 4
2 <= x + y - 1 <= 5, SCIP by .lp: x + y from 3 to 6
2 <= x + y - 1 <= 5, scip_direct: x + y from 2 to 6
2 <= x + y - 1 <= 5, scip_persistent: x + y from 2 to 6
2 <= x + y - 1 <= 5, highs: x + y from 3 to 6
2 <= x + y - 1 <= 5, appsi_highs: x + y from 3 to 6
2 <= x + y + 1, SCIP by .lp: x + y from 1 to 20
2 <= x + y + 1, scip_direct: x + y from 1 to 20
2 <= x + y + 1, scip_persistent: x + y from 1 to 20
2 <= x + y + 1, highs: x + y from 1 to 20
2 <= x + y + 1, appsi_highs: x + y from 1 to 20
SEEN
