"""Random small models of some formats have the optimum that trying all points gives."""

import itertools
import operator
import random

import pytest

from bife_core.solver.scip.reader import read_model

HOLDS = {">=": operator.ge, "<=": operator.le, "=": operator.eq}
HOLDS |= {name: getattr(operator, name) for name in ("ge", "le", "eq", "lt", "gt")}


def optimum(path, text):
    path.write_text(text)
    model = read_model(path)
    model.optimize()
    return model.getObjVal() if model.getStatus() == "optimal" else model.getStatus()


def value(terms, point):
    return sum(weight * point[i] for weight, i in terms)


@pytest.mark.parametrize("seed", range(12))
def test_soft_constraints(tmp_path, seed):
    rng = random.Random(seed)

    def row():
        terms = [(rng.choice([-3, -2, -1, 1, 2, 3]), rng.randrange(5)) for _ in range(3)]
        return terms, rng.choice([">=", "<=", "="]), rng.randint(-2, 3)

    def written(terms, sense, side):
        left = " ".join(f"{weight:+d} x{i}" for weight, i in terms)
        return f"{left} {sense} {side} ;\n"

    def holds(terms, sense, side, point):
        return HOLDS[sense](value(terms, point), side)

    hard, soft = [row() for _ in range(2)], [(rng.randint(1, 6), row()) for _ in range(4)]
    top = rng.choice(["", rng.randint(1, 12)])
    lines = [f"soft: {top} ;\n", *(f"[{cost}] {written(*each)}" for cost, each in soft)]
    points = itertools.product((0, 1), repeat=5)
    points = [point for point in points if all(holds(*each, point) for each in hard)]
    costs = [sum(cost for cost, each in soft if not holds(*each, point)) for point in points]
    best = min((cost for cost in costs if top == "" or cost < top), default="infeasible")
    assert optimum(tmp_path / "a.wbo", "".join([*lines, *(written(*each) for each in hard)])) == best


@pytest.mark.parametrize("seed", range(12))
def test_linear_constraints_of_flatzinc(tmp_path, seed):
    rng = random.Random(seed)
    senses = ["le", "ge", "eq", "lt", "gt"]
    rows = [([rng.randint(-3, 4) for _ in range(3)], rng.choice(senses), rng.randint(0, 9)) for _ in range(3)]
    goal = [rng.randint(-4, 5) for _ in range(3)]

    def total(weights, point):
        return sum(map(operator.mul, weights, point))

    points = list(itertools.product(range(-2, 5), repeat=3))
    fits = (all(HOLDS[sense](total(weights, x), side) for weights, sense, side in rows) for x in points)
    values = [total(goal, point) for point in itertools.compress(points, fits)]
    text = "".join(f"var -2..4: x{i};\n" for i in range(3)) + "var int: o;\n"
    for weights, sense, side in rows:
        text += f"constraint int_lin_{sense}({weights},[x0,x1,x2],{side});\n"
    text += f"constraint int_lin_eq({[*goal, -1]},[x0,x1,x2,o],0);\nsolve maximize o;\n"
    assert optimum(tmp_path / "a.fzn", text) == max(values, default="infeasible")


@pytest.mark.parametrize("seed", range(12))
def test_clauses(tmp_path, seed):
    rng = random.Random(seed)
    clauses = [
        [rng.choice([-1, 1]) * variable for variable in rng.sample(range(1, 6), rng.choice([2, 3]))]
        for _ in range(rng.choice([8, 18]))
    ]
    satisfiable = any(
        all(any(point[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in clauses)
        for point in itertools.product((False, True), repeat=5)
    )
    lines = [f"p cnf 5 {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    text = "\n".join(lines) + "\n"
    assert optimum(tmp_path / "a.cnf", text) == (0 if satisfiable else "infeasible")


@pytest.mark.parametrize("seed", range(6))
def test_polynomials(tmp_path, seed):
    rng = random.Random(seed)
    a, b, c, side = (rng.randint(1, 4) for _ in range(4))
    points = itertools.product(range(6), repeat=2)
    best = max(x + 2 * y for x, y in points if a * x**2 + b * x * y + c * y <= 10 * side)
    text = f"Maximize\n o: x + 2 y\nSubject To\n r: {a} x^2 + {b} x y + {c} y <= {10 * side}\n"
    text += "Bounds\n x <= 5\n y <= 5\nGeneral\n x y\nEnd\n"
    assert optimum(tmp_path / "a.pip", text) == pytest.approx(best)
