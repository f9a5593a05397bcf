"""Small models that are awkward to branch on, each made for one reason."""

import random

from pyscipopt import SCIP_PARAMSETTING, Model, quicksum


def _empty():
    model = Model()
    model.hideOutput()
    return model


def _bare():
    """Return a model that SCIP will have to branch on, since it may do little else."""
    model = _empty()
    model.setPresolve(SCIP_PARAMSETTING.OFF)
    model.setHeuristics(SCIP_PARAMSETTING.OFF)
    model.setSeparating(SCIP_PARAMSETTING.OFF)
    return model


def _knapsacks(model, n, seed=0):
    """Add n binaries in five knapsack rows, with an objective to maximise."""
    rng = random.Random(seed)
    x = [model.addVar(f"x{i}", vtype="B") for i in range(n)]
    for _ in range(5):
        weights = [rng.randint(5, 60) for _ in x]
        model.addCons(quicksum(w * v for w, v in zip(weights, x, strict=True)) <= sum(weights) / 3 + 0.5)
    model.setObjective(quicksum(rng.randint(5, 60) * v for v in x), "maximize")
    return x


def knapsacks():
    """Nothing awkward: 20 binaries."""
    model = _empty()
    _knapsacks(model, 20)
    return model


def no_lp():
    """No LP is ever solved, so SCIP branches on pseudo solutions."""
    model = _empty()
    _knapsacks(model, 14)
    model.setParam("lp/solvefreq", -1)
    return model


def lps_cut_short():
    """Every LP stops after three iterations; some nodes end without a solution of theirs."""
    model = knapsacks()
    model.setParam("lp/iterlim", 3)
    model.setParam("lp/rootiterlim", 3)
    return model


def zero_rows_and_columns():
    """Integer variables in no row, and rows without variables of weight."""
    model = _bare()
    x = _knapsacks(model, 20)
    for i in range(5):
        model.addVar(f"free{i}", vtype="I", lb=0, ub=3)
    model.addCons(x[0] - x[0] + 0 * x[1] <= 1)
    return model


def infeasible():
    """An even sum that must be odd: only branching finds out."""
    model = _bare()
    x = [model.addVar(f"x{i}", vtype="B") for i in range(9)]
    model.addCons(quicksum(2 * v for v in x) == 9)
    model.setObjective(quicksum((i + 1) * v for i, v in enumerate(x)))
    return model


def unbounded():
    """Two integers that grow together."""
    model = _empty()
    x, y = (model.addVar(name, vtype="I", ub=None) for name in "xy")
    model.addCons(x - y <= 1)
    model.setObjective(x + y, "maximize")
    return model


def solved_at_the_root():
    """One row of two binaries."""
    model = _empty()
    x, y = (model.addVar(name, vtype="B") for name in "xy")
    model.addCons(x + y <= 1)
    model.setObjective(x + 2 * y, "maximize")
    return model


def continuous():
    """A linear program."""
    model = _empty()
    x = [model.addVar(f"x{i}", ub=10) for i in range(6)]
    model.addCons(quicksum(3 * v for v in x) <= 10)
    model.setObjective(quicksum((i + 1) * v for i, v in enumerate(x)), "maximize")
    return model


def implied_integers():
    """All variables are declared integral by implication: they are no branching candidates of the LP."""
    model = _bare()
    rng = random.Random(4)
    x = [model.addVar(f"x{i}", vtype="M", ub=9) for i in range(8)]
    for _ in range(4):
        model.addCons(quicksum(rng.randint(1, 9) * v for v in x) <= 50)
    model.setObjective(quicksum(rng.randint(1, 9) * v for v in x), "maximize")
    return model


def nonconvex():
    """Integer and continuous variables multiplied: SCIP branches on both kinds."""
    model = _empty()
    x = [model.addVar(f"x{i}", vtype="I", lb=-5, ub=5) for i in range(4)]
    y = [model.addVar(f"y{i}", lb=-3, ub=3) for i in range(4)]
    bound = model.addVar("bound", lb=None)
    terms = ((1 + i) * x[i] * y[i] - y[i] * y[(i + 1) % 4] + 0.37 * x[i] * x[(i + 1) % 4] for i in range(4))
    model.addCons(quicksum(terms) <= bound)
    model.addCons(quicksum(x[i] * x[i] - 1.3 * y[i] * y[i] for i in range(4)) >= 1.5)
    model.addCons(quicksum((1.7 + 0.3 * i) * x[i] + y[i] for i in range(4)) <= 3.3)
    model.setObjective(bound)
    return model


def nonconvex_continuous():
    """Products of continuous variables: spatial branching alone."""
    model = _bare()
    rng = random.Random(2)
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(6)]
    bound = model.addVar("bound", lb=None)
    products = (rng.uniform(-1, 1) * x[i] * x[j] for i in range(6) for j in range(i, 6))
    model.addCons(quicksum(products) <= bound)
    model.addCons(quicksum(x) == 0.3)
    model.setObjective(bound)
    return model


def ordered_sets():
    """Special ordered sets of both types beside binaries."""
    model = _empty()
    rng = random.Random(3)
    x = [model.addVar(f"s{i}", ub=1) for i in range(20)]
    b = _knapsacks(model, 20, seed=4)
    for k in range(4):
        model.addConsSOS1(x[5 * k : 5 * k + 5], list(range(1, 6)))
    model.addConsSOS2(x[::2], list(range(1, 11)))
    for s, v in zip(x, b, strict=True):
        model.addCons(s <= 2 * v)
    model.addCons(quicksum(x) + quicksum(b) <= 7.7)
    model.setObjective(quicksum(rng.random() * v for v in x + b), "maximize")
    return model


def indicators():
    """Binaries that switch rows on."""
    model = _bare()
    rng = random.Random(3)
    b = _knapsacks(model, 20, seed=4)
    y = [model.addVar(f"y{i}", ub=50) for i in range(20)]
    for v, switch in zip(y, b, strict=True):
        model.addConsIndicator(v + 0.1 * y[0] <= 3, binvar=switch)
    model.addCons(quicksum(y) <= 700.5)
    model.addCons(quicksum(b) >= 5)
    model.setObjective(quicksum(rng.randint(1, 90) * v for v in y + b), "maximize")
    return model


def free_integers():
    """Integer variables without bounds."""
    model = _bare()
    rng = random.Random(5)
    x = [model.addVar(f"x{i}", vtype="I", lb=None, ub=None) for i in range(6)]
    for i, v in enumerate(x):
        row = 3 * v + 2 * x[(i + 1) % 6]
        model.addCons(row >= -7.5)
        model.addCons(row <= 9.3)
    model.setObjective(quicksum(rng.randint(-9, 9) * v for v in x))
    return model


def huge_values():
    """Integers of up to 1e9 whose LP values have a fractional part near the precision of a double."""
    model = _bare()
    rng = random.Random(5)
    x = [model.addVar(f"x{i}", vtype="I", lb=-1e9, ub=1e9) for i in range(6)]
    for j in range(4):
        model.addCons(quicksum(rng.randint(-9, 9) * v for v in x) <= 1e7 + 0.5 + j)
        model.addCons(quicksum(rng.randint(1, 9) * v for v in x) >= -1e7 - 0.5 - j)
    model.setObjective(quicksum(rng.randint(1, 9) * v for v in x))
    return model


FEASIBLE = (lps_cut_short, zero_rows_and_columns, nonconvex, ordered_sets, indicators)
FEASIBLE = {make.__name__: make for make in (*FEASIBLE, free_integers, huge_values)}
"""Models with an optimum on which LP solutions are branched on."""

UNASKED = {
    make.__name__: (make, status)
    for make, status in (
        (no_lp, "optimal"), (solved_at_the_root, "optimal"), (continuous, "optimal"),
        (nonconvex_continuous, "optimal"), (implied_integers, "optimal"), (unbounded, "unbounded"),
    )
}  # fmt: skip
"""Models on which no rule is ever asked, and how SCIP ends."""
