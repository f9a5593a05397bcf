#!/usr/bin/env bash
# A model of twelve variables, solved by SCIP with cuts off. One would expect the optimum of SCIP with cuts, and a binary
# variable at 0 or 1. Seen with SCIP 10.0 (PySCIPOpt 6.3.0): "optimal" at a lower value, with a binary variable at 1/6,
# which SCIP's own check of the solution accepts. In a restart the binary variable seems to be replaced by a continuous
# one that equals it by then; without restarts, or without multi-aggregation, the optimum is right.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyscipopt==6.3.0 highspy==1.16.0
cat > seen.py <<'PY'
import highspy
import pyscipopt


def unit():
    """A unit that is on in two hours, starts and stops, and another one that helps."""
    model = pyscipopt.Model()
    model.hideOutput()
    on = [model.addVar(f"on{hour}", "B", obj=cost) for hour, cost in enumerate((11, 0))]
    stops, starts = model.addVar("stops", "B"), model.addVar("starts", ub=1, obj=15)
    steps = [model.addVar("step0", "I", ub=None, obj=5), model.addVar("step1", ub=4, obj=8)]
    steps.append(model.addVar("step2", ub=None, obj=6))
    more, other = model.addVar("more", "I", ub=4, obj=3), model.addVar("other", "I", ub=None, obj=9)
    power = [model.addVar("power0", ub=21), model.addVar("power1", ub=14)]
    help_ = model.addVar("help", ub=15)
    for step in steps:
        model.addCons(step <= 4 * on[0])
    model.addCons(power[0] == 6 * on[0] + sum(steps))
    model.addCons(power[0] <= 18 * on[0])
    model.addCons(power[1] == 6 * on[1] + more)
    model.addCons(on[1] - on[0] - starts + stops == 0)
    model.addCons(power[1] - power[0] - 6 * starts <= 3)
    model.addCons(help_ == other)
    model.addCons(power[1] + help_ >= 18)
    return model


cuts_off = {"separating/maxrounds": 0, "separating/maxroundsroot": 0}
print("SCIP", pyscipopt.Model().version(), "PySCIPOpt", pyscipopt.__version__)
for words, settings in (
    ("default settings", {}),
    ("cuts off", cuts_off),
    ("cuts off, no restarts", cuts_off | {"presolving/maxrestarts": 0}),
    ("cuts off, no multi-aggregation", cuts_off | {"presolving/donotmultaggr": True}),
):
    model = unit()
    model.setParams(settings)
    model.optimize()
    best = model.getBestSol()
    stops = next(variable for variable in model.getVars() if variable.name == "stops")
    checked = model.checkSol(best, original=True)
    value = abs(model.getSolVal(best, stops))
    print(f"{words}: {model.getStatus()} {model.getObjVal():.4g}, {stops.vtype()} {value:.3f}, checked {checked}")
unit().writeProblem("unit.mps", verbose=False)
highs = highspy.Highs()
highs.silent()
highs.readModel("unit.mps")
highs.run()
print(f"HiGHS: {highs.modelStatusToString(highs.getModelStatus())} {highs.getObjectiveValue():.4g}")
PY
venv/bin/python seen.py 2> errors.txt | grep -v -e '^Running HiGHS' -e '^Includes third' -e '^Copyright' | tee seen.txt
diff seen.txt - <<'SEEN'
SCIP 10.0 PySCIPOpt 6.3.0
default settings: optimal 100, BINARY 0.000, checked True
cuts off: optimal 97.5, BINARY 0.167, checked True
cuts off, no restarts: optimal 100, BINARY 0.000, checked True
cuts off, no multi-aggregation: optimal 100, BINARY 0.000, checked True
HiGHS: Optimal 100
SEEN
