"""Machine code scores as Python and numpy do, whatever the features are."""

from __future__ import annotations

import ast
import math
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules import CompiledRule, compile_rule
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


class OnNumpysNumbers(ast.NodeTransformer):
    """Makes numbers and truths numpy's, so that Python computes with 64 bits and no operation on floats raises."""

    def visit_Constant(self, node):
        kind = {bool: "Whole", int: "Whole", float: "Real"}.get(type(node.value))
        return called(kind, node) if kind else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        return called("Whole", node)

    def visit_BinOp(self, node):
        literal = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow) and not literal:
            node.left, node.right = called("Real", node.left), called("Real", node.right)
        return node


def called(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def lifted(function):
    """Let a function take truths for whole numbers: of a boolean, numpy computes in half precision."""

    def whole(x):
        return np.int64(x) if isinstance(x, bool | np.bool_) else x

    def evaluate(*arguments, **options):
        return whole(function(*map(whole, arguments), **options))

    return evaluate


def fitting(function):
    """Let a function that gives whole numbers raise where they do not fit 64 bits."""

    def evaluate(x, *digits):
        found = function(x, *digits)
        if not -(2**63) <= found < 2**63:
            raise OverflowError
        return np.int64(found) if isinstance(found, int) else found

    return evaluate


def of_one_type(function):
    """Let `min` and `max` give a float if any argument is one."""

    def evaluate(*arguments):
        given = arguments if len(arguments) > 1 else list(arguments[0])
        found = function(given)
        return np.float64(found) if any(isinstance(x, float) for x in given) else found

    return evaluate


WORDS = {
    "int": fitting(int),
    "round": lambda x, *digits: round(x, *digits) if digits else fitting(round)(x),
    "min": of_one_type(min),
    "max": of_one_type(max),
    "len": lambda values: np.int64(len(values)),
    "sorted": lambda values, reverse=False: list(np.sort(values))[:: -1 if reverse else 1],
    "Whole": np.int64,
    "Real": np.float64,
}


ARC = {f"a{name}": f"arc{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")}
NUMPY = types.SimpleNamespace(
    **{
        name: lifted(value) if callable(value) else value
        for name, value in vars(np).items()
        if name in dir(np)
    }
)
NUMPY.dot = lambda a, b: sum(
    (x * y for x, y in zip(a, b, strict=True)), np.float64(0)
)  # numpy's own is a BLAS
MATH = types.SimpleNamespace(
    **{name: fitting(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    **{name: getattr(math, name) for name in ("pi", "e", "tau")},
    **{
        name: lifted(getattr(np, ARC.get(name, name)))
        for name in MATH_FUNCTIONS - {"erf", "erfc", "floor", "ceil", "trunc", "log", "pow"}
    },
    pow=lambda x, y: np.float64(x) ** np.float64(y),
    erf=lambda x: np.float64(math.erf(x)),
    erfc=lambda x: np.float64(math.erfc(x)),
    log=lambda x, base=None: np.log(x) if base is None else np.log(x) / np.log(base),
)


def by_python(source, matrix):
    """Scores of a rule that Python runs, "raised" where it raises."""
    scope = {"np": NUMPY, "math": MATH, **WORDS}
    tree = ast.fix_missing_locations(OnNumpysNumbers().visit(ast.parse(source)))
    exec(compile(tree, "<rule>", "exec"), scope)
    scores = []
    with np.errstate(all="ignore"):
        for row in matrix:
            try:
                scores.append(float(scope["candidate_variable_score"](row)))
            except (ValueError, OverflowError, IndexError):
                scores.append("raised")
    return scores


def by_machine(source, matrix):
    rule = compile_rule(source)
    assert isinstance(rule, CompiledRule), (source, rule)
    scores = []
    for row in matrix:
        try:
            scores.append(rule.score(row[None])[0])
        except RuleError:
            scores.append("raised")
    return scores


def assert_same_scores(found, expected, what):
    assert [a == "raised" for a in map(str, found)] == [b == "raised" for b in map(str, expected)], what
    pairs = [(a, b) for a, b in zip(found, expected, strict=True) if not isinstance(a, str)]
    if pairs:
        np.testing.assert_allclose(
            *zip(*pairs, strict=True), rtol=1e-12, atol=0, equal_nan=True, err_msg=what
        )


def assert_same(source):
    assert_same_scores(by_machine(source, X), by_python(source, X), source)


def assert_all_same(expressions):
    """Compare many expressions for the price of one compilation: feature 0 picks one."""
    branches = "".join(f"    if f[0] == {k}:\n        return {e}\n" for k, e in enumerate(expressions))
    source = HEAD + branches + "    return 0.0\n"
    for k, expression in enumerate(expressions):
        matrix = X[::3].copy()
        matrix[:, 0] = k
        alone = f"{HEAD}    return {expression}\n"
        assert_same_scores(by_machine(source, matrix), by_python(alone, matrix), expression)


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
math.fmod(int(np.tanh(f[1]) * 3) - 3, 2) + math.fmod(-3, -2)
np.fmod(int(np.tanh(f[1]) * 9) - 7, 3)
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
np.nan_to_num(f[1], nan=2.0, posinf=3.0, neginf=-1.0)
np.array([f[1], 2], dtype=float).mean()
np.asarray(f, dtype=float)[3]
np.median([f[1], f[2], f[3], f[4]])
np.sort(f[1:9])[2] + np.cumsum(f[1:4])[2]
sorted([f[3], f[1], f[2]])[1] + sorted((f[1], f[2]), reverse=True)[0]
np.dot(f[0:3], np.array([0.5, 0.25, 1])) + np.dot(f[1:3], (1, 2)) + np.dot([f[1], 2.0], f[3:5])
np.argmax(f[1:9]) + f[1:9].argmin()
f[48:54].sum() + f[48:54].mean() + f[48:54].std()
any([f[1] > 0, f[2] > 0]) + all((f[1] > 0, f[2] > 0))
len(f) * f[1] + f.size + f.shape[0]
f[int(min(max(np.nan_to_num(f[8]), 0), 71))]
f[int(f[8])]
sum([x * y for x in f[1:4] for y in (x, 2.0) if x > 0 if y > 0])
len([1 for x in f[1:9] if x > f[9]]) / len([x for x in f[1:9] if x > f[10]])
1e999 * f[1]
math.sqrt(f[1] > 0) + np.exp(True)
np.logical_and(f[1], f[2]) + 2
math.tau * math.e + np.pi * np.euler_gamma
""".strip().splitlines()


@pytest.mark.parametrize("expressions", in_groups(EXPRESSIONS, 10), ids=lambda group: group[0])
def test_expressions(expressions):
    assert_all_same(expressions)


STATEMENTS = [
    "t = 0\n    for i in range(48, 54):\n        t += f[i]\n    return t / 6",
    "t = 1\n    for x in f[3:9]:\n        if x < 0:\n            continue\n"
    "        if x > 5:\n            break\n        t *= x\n    return t",
    "x, n = abs(np.tanh(f[1])), 0\n    while x > 0.01 and n < 50:\n        x *= 0.5\n        n += 1\n    return n",
    "a, b = f[1], f[2]\n    a, b = b, a\n    if a > b:\n        return a - b\n"
    "    elif a == b:\n        return 0\n    return True",
    "w = (0.5, 0.25, 1)\n    t = 0.0\n    for i in range(3):\n        t += w[i] * f[i + 1]\n    return t",
    "t = 0.0\n    for k, (x, y) in enumerate(zip(f[1:6:2], f[9:2:-3])):\n        t += k * x - y\n    return t",
    "t = 0.0\n    for a, b in ((f[1], 2), (f[2], 3.0)):\n        if a > b:\n            break\n"
    "        t += a * b\n    return t",
    "rows = ((1.0, 2), (3.0, 4))\n    return rows[int(f[1] > 0) - 1][1] * f[2]",
    "v = [f[1], f[2], 0.5]\n    return v[int(abs(np.tanh(f[3])) * 4)]",
    "max = f[1]\n    range = 0.0\n    for len in f[1:4]:\n        range += max * len\n    return range",
    "def half(x, by=0.5):\n        return x * by\n    return half(f[1]) + half(by=f[2], x=1.0)",
    "def first(v, k):\n        return v[1] * k\n    return first(f, f[2]) + first(k=3, v=f)",
    "x = (f[1], f[2], f[3])\n    c = f[4]\n    y = [x * c for x in x]\n    return y[0] + y[2] * x[1]",
    "n = 1\n    for i in range(70):\n        n *= 3\n    return n",
]


@pytest.mark.parametrize("body", STATEMENTS)
def test_statements(body):
    assert_same(f"{HEAD}    {body}\n")


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
def test_any_rule_scores_as_python_does(source):
    assert_same(source)
