"""Machine code scores as Python and numpy do, whatever the features are."""

import ast
import math
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bife_core.language.components import BRANCHING
from bife_core.language.rules import CompiledRule, compile_rule
from bife_core.language.rules.language import ARGUMENTS, MATH_FUNCTIONS, NUMPY_FUNCTIONS

HEAD = "def candidate_variable_score(f):\n"
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.0, 1e-320, 1e308, -1e308, 1e19, np.inf, -np.inf, np.nan]


def edge_matrix(rows, seed=0):
    """Ordinary and awkward values, mixed within rows."""
    rng = np.random.default_rng(seed)
    shape = rows, BRANCHING.n_features
    plain = rng.lognormal(0.0, 2.0, shape) * rng.choice([1.0, -1.0], shape)
    awkward = rng.choice(EDGES, shape)
    return np.where(rng.random(shape) < np.linspace(0, 1, rows)[:, None], awkward, plain)


X = edge_matrix(300)


class OnNumpysNumbers(ast.NodeTransformer):
    """Makes all numbers and truths numpy's floats, so that no operation raises; indices and ranges stay whole."""

    def visit_Constant(self, node):
        return called("float", node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        return called("float", node)

    def visit_Subscript(self, node):
        node.slice = called("round", node.slice)
        return node

    def visit_For(self, node):
        node.body = [self.visit(statement) for statement in node.body]
        return node


def called(name, argument):
    return ast.Call(ast.Name(f"plain_{name}", ast.Load()), [argument], [])


def on_floats(function):
    """Return the truths of a function as floats: of a boolean, numpy computes in half precision."""

    def evaluate(*arguments, **options):
        return np.float64(function(*(np.float64(x) for x in arguments), **options))

    return evaluate


ARC = {f"a{name}": f"arc{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")}
NUMPY = types.SimpleNamespace(
    **{name: on_floats(getattr(np, name)) for name in NUMPY_FUNCTIONS - {"where"}},
    **{name: getattr(np, name) for name in ("pi", "e", "inf", "nan", "euler_gamma")},
    where=lambda condition, yes, no: yes if condition else no,
)
MATH = types.SimpleNamespace(
    **{name: getattr(math, name) for name in ("pi", "e", "tau")},
    **{
        name: on_floats(getattr(np, ARC.get(name, name)))
        for name in MATH_FUNCTIONS - {"erf", "erfc", "log", "pow"}
    },
    pow=lambda x, y: np.float64(x) ** np.float64(y),
    erf=lambda x: np.float64(math.erf(x)),
    erfc=lambda x: np.float64(math.erfc(x)),
    log=lambda x, base=None: np.log(x) if base is None else np.log(x) / np.log(base),
)
WORDS = {
    "plain_float": np.float64,
    "plain_round": round,
    "int": np.trunc,
    "float": lambda x: np.float64(x),
    "bool": lambda x: np.float64(bool(x)),
    "round": lambda x: np.round(np.float64(x)),
}


def by_python(source, matrix):
    """Scores of a rule that Python runs."""
    scope = {"np": NUMPY, "math": MATH, **WORDS}
    tree = ast.fix_missing_locations(OnNumpysNumbers().visit(ast.parse(source)))
    exec(compile(tree, "<rule>", "exec"), scope)
    with np.errstate(all="ignore"):
        return [float(scope["candidate_variable_score"](row)) for row in matrix]


def by_machine(source, matrix):
    rule = compile_rule(source)
    assert isinstance(rule, CompiledRule), (source, rule)
    return rule.score(matrix)


def assert_same_scores(found, expected, what):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0, equal_nan=True, err_msg=what)


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


CALLS = [
    f"{name}({', '.join(f'f[{i}]' for i in range(1, ARGUMENTS.get(name, 1) + 1))})"
    for name in sorted(
        {f"np.{name}" for name in NUMPY_FUNCTIONS} | {f"math.{name}" for name in MATH_FUNCTIONS}
    )
]


@pytest.mark.parametrize("calls", in_groups(CALLS), ids=lambda group: group[0])
def test_functions(calls):
    assert_all_same(calls)


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
10 ** -3 * f[1]
int(np.tanh(f[1]) * 3) ** int(np.tanh(f[2]) * 3)
-f[1] + +f[2]
-(f[1] > 0) + (f[2] > 0)
(f[1] > f[2]) - (f[3] > 1)
(f[1] > f[2]) + (f[3] > 1) + (f[4] > 0)
(f[1] > 0) / (f[2] > 0)
f[1] or f[2] and f[3]
not f[1]
(f[1] or 1.0) * (f[2] and f[3] > 0 and f[4])
0 < f[1] < f[2] <= 3
f[1] == f[2]
f[1] != f[1]
f[1] if f[1] > f[2] else f[2]
min(f[1], f[2]) - max(f[3], f[4], 0.5)
max(0, f[1]) // 0
min(1.0, f[1]) + min(f[1], 1.0)
abs(f[1]) + abs(-3)
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
1e999 * f[1]
math.sqrt(f[1] > 0) + np.exp(True)
math.tau * math.e + np.pi * np.euler_gamma
""".strip().splitlines()


@pytest.mark.parametrize("expressions", in_groups(EXPRESSIONS, 10), ids=lambda group: group[0])
def test_expressions(expressions):
    assert_all_same(expressions)


STATEMENTS = [
    "t = 0\n    for i in range(48, 54):\n        t += i * f[i]\n    return t / 6 + i",
    "t = 1\n    for i in range(9, 3, -2):\n        if f[i] > 5:\n            return t * f[i + 1]\n"
    "        t *= f[i]\n    return t",
    "a, b = f[1], f[2]\n    a, b = b, a\n    if a > b:\n        return a - b\n"
    "    elif a == b:\n        return 0\n    return True",
    "a = b = f[1]\n    b += 1\n    for i in range(2):\n        for j in range(i, 2):\n"
    "            a = a * f[2 * i + j] + b\n"
    "    return a ** i - b",
    "max = f[1]\n    abs = 0.0\n    if max > 0:\n        abs += max\n    return abs",
    "k = 3\n    k = k + 1\n    x: float = f[k]\n    x **= 2\n    return x // 3 - x % k",
]
HELPERS = """
def half(x, by=0.5):
    if x > 1:
        return x * by
    return -x


def both(x, y):
    return half(x) + half(by=y, x=1.0)


def candidate_variable_score(f):
    return both(f[1], f[2]) * half(f[3])
"""


def test_helpers():
    assert_same(HELPERS)


@pytest.mark.parametrize("body", STATEMENTS)
def test_statements(body):
    assert_same(f"{HEAD}    {body}\n")


LEAVES = st.one_of(
    st.integers(0, 71).map(lambda i: f"f[{i}]"),
    st.sampled_from(["0.0", "1.0", "0.5", "2", "-3", "1e-9", "100.0"]),
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
