"""Machine code and interpretation give the same scores, whatever the features are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules import compile_rule, interpret_rule
from bife_core.rules.language import (
    MATH_FUNCTIONS,
    NUMPY_BINARY,
    NUMPY_REDUCTIONS,
    NUMPY_UNARY,
)

HEAD = "def candidate_variable_score(f):\n"
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.0, 1e-320, 1e308, -1e308, 1e19, np.inf, -np.inf, np.nan]


def edge_matrix(rows: int, seed: int = 0) -> np.ndarray:
    """Ordinary and awkward values, mixed within rows."""
    rng = np.random.default_rng(seed)
    plain = rng.lognormal(0.0, 2.0, (rows, N_FEATURES)) * rng.choice([1.0, -1.0], (rows, N_FEATURES))
    awkward = rng.choice(EDGES, (rows, N_FEATURES))
    return np.where(rng.random((rows, N_FEATURES)) < np.linspace(0, 1, rows)[:, None], awkward, plain)


X = edge_matrix(300)


def outcome(rule, matrix):
    """Scores row by row, "raised" where the rule raised."""
    try:
        return list(rule.score(matrix))
    except RuleError:
        pass
    scores = []
    for row in matrix[:: max(1, len(matrix) // 60)]:
        try:
            scores.append(rule.score(row[None])[0])
        except RuleError:
            scores.append("raised")
    return scores


def assert_equal_outcomes(compiled, interpreted, matrix, rtol, what):
    one, two = outcome(compiled, matrix), outcome(interpreted, matrix)
    assert [a == "raised" for a in map(str, one)] == [b == "raised" for b in map(str, two)], what
    numbers = [(a, b) for a, b in zip(one, two, strict=True) if not isinstance(a, str)]
    if numbers:
        np.testing.assert_allclose(
            *zip(*numbers, strict=True), rtol=rtol, atol=0, equal_nan=True, err_msg=what
        )


def assert_same(source: str, matrix=X, native: bool = True, rtol: float = 1e-12):
    compiled, interpreted = compile_rule(source), interpret_rule(source)
    assert compiled.native == native, getattr(compiled, "why", compiled)
    assert not interpreted.native
    assert_equal_outcomes(compiled, interpreted, matrix, rtol, source)


def assert_all_same(expressions: list[str]):
    """Compare many expressions for the price of one compilation: feature 0 picks one."""
    branches = "".join(f"    if f[0] == {k}:\n        return {e}\n" for k, e in enumerate(expressions))
    source = HEAD + branches + "    return 0.0\n"
    compiled, interpreted = compile_rule(source), interpret_rule(source)
    assert compiled.native, getattr(compiled, "why", compiled)
    for k, expression in enumerate(expressions):
        matrix = X.copy()
        matrix[:, 0] = k
        assert_equal_outcomes(compiled, interpreted, matrix, 1e-12, expression)


def in_groups(items, size=12):
    """Split into lists that share one compilation."""
    ordered = list(items)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


TWO_ARGUMENTS = {"atan2", "copysign", "fmod", "hypot", "pow"}


@pytest.mark.parametrize("names", in_groups(sorted(NUMPY_UNARY)), ids="-".join)
def test_numpy_of_one_number(names):
    assert_all_same([f"np.{name}(f[1])" for name in names])


@pytest.mark.parametrize(
    "names", in_groups(sorted(NUMPY_UNARY - {"isnan", "isinf", "isfinite"})), ids="-".join
)
def test_numpy_of_a_whole_number_or_a_boolean(names):
    assert_all_same([f"np.{name}(f[1] > 0) + np.{name}(int(np.tanh(f[2]) * 3))" for name in names[:6]])


@pytest.mark.parametrize("names", in_groups(sorted(NUMPY_BINARY)), ids="-".join)
def test_numpy_of_two_numbers(names):
    assert_all_same([f"np.{name}(f[1], f[2])" for name in names])


@pytest.mark.parametrize("names", in_groups(sorted(NUMPY_REDUCTIONS), 7), ids="-".join)
def test_reductions(names):
    assert_all_same([f"np.{name}(f[1:6])" for name in names])


def test_reductions_of_lists():
    assert_same(
        f"{HEAD}    v = [f[1], f[2]]\n    w = (f[3], 2.0)\n    return np.mean(v) - np.max(w) + np.median(v)\n"
    )
    assert_all_same(
        ["np.mean([f[1], f[2]])", "np.max((f[1], f[2], 0.5))", "np.sum([x for x in f[1:4] if x > 0])"]
    )


@pytest.mark.parametrize("names", in_groups(sorted(MATH_FUNCTIONS)), ids="-".join)
def test_math(names):
    assert_all_same(
        [f"math.{name}(f[1], f[2])" if name in TWO_ARGUMENTS else f"math.{name}(f[1])" for name in names]
    )


EXPRESSIONS = """
f[1] + f[2]
f[1] / f[2]
f[1] // f[2]
f[1] % f[2]
1 / f[1] + 1 / 0 * f[2]
0 / 0
3 // 0 + 3 % 0
7 // 2 - -7 // 2 + -7 % 3
f[1] ** f[2]
f[1] ** 2 - f[1] ** 3 + f[1] ** 0
f[1] ** -1 + f[1] ** -2
f[1] ** 0.5
(f[1] * f[2]) ** (1 / 3)
f[1] ** 64 + f[1] ** 65
2 ** f[1] + 10.0 ** f[2]
9 ** 9 ** 9
10 ** -3 * f[1]
int(np.tanh(f[1]) * 3) ** -1
int(np.tanh(f[1]) * 3) ** int(np.tanh(f[2]) * 3)
-f[1] + +f[2]
-(f[1] > 0) + (f[2] > 0)
(f[1] > f[2]) - (f[3] > 1)
(f[1] > f[2]) + (f[3] > 1) + (f[4] > 0)
(f[1] > 0) / (f[2] > 0)
(f[1] > 0) & (f[2] > 0) | (f[3] > 0)
f[1] or f[2] and f[3]
not f[1]
0 < f[1] < f[2] <= 3
f[1] == f[2]
f[1] != f[1]
f[1] if f[1] > f[2] else f[2]
min(f[1], f[2]) - max(f[3], f[4], 0.5)
max(0, f[1]) // 0
min(1.0, f[1]) + min(f[1], 1.0)
max([f[1], f[2], f[3]]) + min((f[1], f[2]))
sum([f[1], f[2], 1]) + sum((1, 2))
sum(x * w for x, w in zip(f[0:3], (0.2, 0.3, 1)))
sum(i * x for i, x in enumerate(f[3:6]))
abs(f[1]) + abs(-3)
round(f[1], 2) + round(f[2], -1)
round(np.tanh(f[1]))
round(f[1])
int(f[1])
int(np.tanh(f[1]) * 9.9)
math.floor(np.tanh(f[1]) * 9.9) + math.ceil(np.tanh(f[2]) * 9.9)
math.floor(f[1])
float(f[1] > 0) + float(3) + bool(f[2])
float('inf') - f[1]
math.log(f[1], 2)
np.clip(f[1], 0, 1) + np.clip(f[2], f[3], 1.0)
np.where(f[1] > 0, 1, f[2])
np.where(f[0:3] > 0, f[0:3], 0.0).sum()
np.nan_to_num(f[1], nan=2.0, posinf=3.0, neginf=-1.0)
np.array([f[1], 2], dtype=float).mean()
np.asarray(f, dtype=float)[3]
np.median([f[1], f[2], f[3], f[4]])
np.sort(f[1:9])[2] + np.cumsum(f[1:4])[2]
sorted([f[3], f[1], f[2]])[1] + sorted((f[1], f[2]), reverse=True)[0]
np.dot(f[0:3], np.array([0.5, 0.25, 1])) + np.dot(f[1:3], (1, 2)) + np.dot([f[1], 2.0], f[3:5])
np.dot(f[0:3], f[0:2])
np.argmax(f[1:9]) + f[1:9].argmin()
f[48:54].sum() + f[48:54].mean() + f[48:54].std()
any([f[1] > 0, f[2] > 0]) + all((f[1] > 0, f[2] > 0))
len(f) * f[1] + f.size + f.shape[0]
f[int(min(max(np.nan_to_num(f[8]), 0), 71))]
f[int(f[8])]
[x for x in f[1:5] if x > 0][0]
max([x for x in f[1:5] if x > 0])
min([x for x in f[1:5] if x > 0])
sum([x * y for x in f[1:4] for y in (x, 2.0) if x > 0 if y > 0])
sum([max([x * y for y in f[1:4] if y > x]) for x in f[4:6]])
len([1 for x in f[1:9] if x > f[9]]) / len([x for x in f[1:9] if x > f[10]])
([f[1]] * 2 + [2.0])[2]
1e999 * f[1]
math.sqrt(f[1] > 0) + np.exp(True)
np.logical_and(f[1], f[2]) + 2
math.tau * math.e + np.pi * np.euler_gamma
""".strip().splitlines()


@pytest.mark.parametrize("expressions", in_groups(EXPRESSIONS, 10), ids=lambda group: group[0])
def test_expressions(expressions):
    assert_all_same(expressions)


def test_a_rule_only_python_can_run():
    source = (
        HEAD
        + "    x = 1.0\n    if f[1] > 0:\n        x = (f[1], f[2])\n        return x[0] * x[1]\n    return x\n"
    )
    assert_same(source, native=compile_rule(source).native)
    assert_same(HEAD + "    return f[1] ^ f[2]\n", native=False)


STATEMENTS = [
    "t = 0\n    for i in range(48, 54):\n        t += f[i]\n    return t / 6",
    "t = 1\n    for x in f[3:9]:\n        if x < 0:\n            continue\n"
    "        if x > 5:\n            break\n        t *= x\n    return t",
    "x, n = abs(np.tanh(f[1])), 0\n    while x > 0.01 and n < 50:\n        x *= 0.5\n        n += 1\n    return n",
    "a, b = f[1], f[2]\n    a, b = b, a\n    if a > b:\n        return a - b\n"
    "    elif a == b:\n        return 0\n    return True",
    "g = f[1:4]\n    g += 1.0\n    g *= 2.0\n    return g[0] + f[1]",
    "def half(x, by=0.5):\n        return x * by\n    return half(f[1]) + half(by=f[2], x=1.0)",
    "def both(x):\n        return x, -x\n    p, q = both(f[1])\n    return p * 2.0 + q",
    "x = (f[1], f[2], f[3])\n    c = f[4]\n    y = [x * c for x in x]\n    return y[0] + y[2] * x[1]",
    "n = 1\n    for i in range(70):\n        n *= 3\n    return n",
]


@pytest.mark.parametrize("body", STATEMENTS)
def test_statements(body):
    assert_same(f"{HEAD}    {body}\n")


@pytest.mark.parametrize("native", [True, False])
def test_a_rule_cannot_change_the_features(native):
    source = HEAD + "    g = f[1:4]\n    g *= 2.0\n    f = g\n    f += 1.0\n    return f[0]\n"
    rule = compile_rule(source) if native else interpret_rule(source)
    matrix = np.arange(2.0 * N_FEATURES).reshape(2, N_FEATURES)
    before = matrix.copy()
    assert rule.score(matrix).tolist() == [3.0, 2.0 * (N_FEATURES + 1) + 1.0]
    np.testing.assert_array_equal(matrix, before)


LEAVES = st.one_of(
    st.integers(0, 71).map(lambda i: f"f[{i}]"),
    st.sampled_from(["0.0", "1.0", "0.5", "2", "-3", "1e-9", "100.0", "True"]),
)


def _grow(inner):
    one = st.sampled_from(
        ["abs", "np.sqrt", "np.log1p", "math.exp", "np.tanh", "math.log", "np.sign", "np.floor", "-", "float"]
    )
    two = st.sampled_from(["+", "-", "*", "/", "//", "%", ">", "<=", "=="])
    return st.one_of(
        st.tuples(one, inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, two, inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.integers(0, 5)).map(lambda p: f"({p[0]}) ** {p[1]}"),
        st.tuples(inner, st.sampled_from(["0.5", "-1", "1.5"])).map(lambda p: f"abs({p[0]}) ** {p[1]}"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} > {p[2]} else {p[0]} * 2.0)"),
        st.tuples(inner, inner).map(lambda p: f"np.clip({p[0]}, {p[1]}, 10.0)"),
        st.tuples(inner, inner, inner).map(lambda p: f"np.where({p[0]} > 0, {p[1]}, {p[2]})"),
    )


RULES = st.lists(st.recursive(LEAVES, _grow, max_leaves=8), min_size=1, max_size=3).map(
    lambda parts: (
        HEAD
        + "    t = 0.0\n"
        + "".join(f"    x{i} = {part}\n    t = t + x{i}\n" for i, part in enumerate(parts))
        + "    return t\n"
    )
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(RULES)
def test_any_rule_scores_the_same_either_way(source):
    assert_same(source)
