#!/usr/bin/env bash
# Five variables with small bounds, two equations and two rows, which can be enumerated. One would expect SCIP's default
# settings to find the optimum. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): "optimal" at half of it. Without presolving, or
# without that of linear rows alone, SCIP finds the optimum, as HiGHS does.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt


def equations():
    model = pyscipopt.Model()
    model.hideOutput()
    b = model.addVar("b", "B")
    x = model.addVar("x", "I", lb=-20, ub=20, obj=1)
    y = model.addVar("y", "I", lb=-20, ub=10, obj=8)
    z = model.addVar("z", "I", lb=0, ub=10)
    c = model.addVar("c", lb=0, ub=10, obj=1)
    model.addCons(5 * x - 2 * y + 3 * c == -95)
    model.addCons(5 * b - 2 * y + 2 * z == 3)
    model.addCons(-3 * x + 5 * y + 2 * c <= 86)
    model.addCons(7.68 * b + 2.8 * x + c <= -42)
    model.setMaximize()
    return model


def enumerated():
    for b in (0, 1):
        for x in range(-20, 21):
            for y in range(-20, 11):
                z, c = (3 - 5 * b + 2 * y) / 2, (-95 - 5 * x + 2 * y) / 3
                if z % 1 == 0 and 0 <= z <= 10 and 0 <= c <= 10:
                    if -3 * x + 5 * y + 2 * c <= 86 and 7.68 * b + 2.8 * x + c <= -42:
                        yield x + 8 * y + c


print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
print(f"enumerated: {max(enumerated()):.2f}")
for words, settings in (
    ("default settings", {}),
    ("no presolving", {"presolving/maxrounds": 0}),
    ("none of linear rows", {"constraints/linear/maxprerounds": 0}),
):
    model = equations()
    model.setParams(settings)
    model.optimize()
    print(f"{words}: {model.getStatus()} {model.getObjVal():.2f}")
equations().writeProblem("equations.lp", verbose=False)
highs = highspy.Highs()
highs.silent()
highs.readModel("equations.lp")
highs.run()
print(f"HiGHS: {highs.modelStatusToString(highs.getModelStatus())} {highs.getObjectiveValue():.2f}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
enumerated: 15.67
default settings: optimal 7.67
no presolving: optimal 15.67
none of linear rows: optimal 15.67
HiGHS: Optimal 15.67
SEEN
