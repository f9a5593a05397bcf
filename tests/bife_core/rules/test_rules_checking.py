"""What a rule may say, and that every refusal is one sentence naming the line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.acceptance import acceptance, features, offline
from bife_core.features import N_FEATURES
from bife_core.rules import REFERENCE_RULES, compile_rule
from bife_core.rules.checked import CheckedRule, check_source
from bife_core.rules.types import Rejection

HEAD = "def candidate_variable_score(variable_features):\n"
PAPER_HEAD = '''import numpy as np
import math
def candidate_variable_score(variable_features) -> float:
    """
    Assign a score.

    Args:
    variable_features: 72 dimensions.
    """
'''


def rejection(source: str | bytes) -> Rejection:
    found = check_source(source)
    assert isinstance(found, Rejection), f"accepted: {source!r}"
    assert re.fullmatch(r"[A-Z][^\n]*\.", found.reason), found.reason
    return found


def accepted(source: str) -> CheckedRule:
    found = check_source(source)
    assert isinstance(found, CheckedRule), f"refused: {found}"
    return found


@pytest.mark.parametrize(
    "body",
    [
        "return 0.0",
        "return 1",
        "import math\n    return math.sqrt(variable_features[18])",
        "from math import sqrt as root, pi\n    return root(variable_features[18]) * pi",
        "import numpy as xp\n    return xp.log1p(variable_features[18])",
        "f = variable_features\n    return (f[20] * f[21]) ** 0.5",
        "f = variable_features\n    if f[20] > 0 and not f[21] <= 0:\n        return 1.0\n    return 0.0",
        "f = variable_features\n    x: float = f[1]\n    x += f[2]\n    return x if x > 0 else -x",
        "f = variable_features\n    total = 0.0\n    for i in range(48, 54):\n        total += f[i]\n    return total",
        "a, b = variable_features[1], variable_features[2]\n    return max(a, b, 0.5) - min(a, b)",
        "return float('-inf') if variable_features[3] == 0 else float('inf')",
        "return np.clip(variable_features[18], 0.1, 0.5)",
        "max = variable_features[1]\n    return max * 2.0",
    ],
)
def test_ordinary_rules_are_accepted(body):
    accepted(f"{PAPER_HEAD}    {body}\n")


def test_helpers_and_constants_outside_the_function_are_accepted():
    accepted(
        "SLACK, UP = 18, 20\nEPS: float = 1e-9 * 2\n"
        "def safe(a, b, eps=1e-9):\n    return a / max(b, eps)\n"
        f"{HEAD}    return safe(variable_features[SLACK], b=variable_features[UP]) + EPS\n"
    )


@pytest.mark.parametrize("source", ["", "   \n\t\n", b""])
def test_no_code(source):
    assert rejection(source).kind == "no_code"


@pytest.mark.parametrize(
    "source",
    [
        "def candidate_variable_score(f) return 1",
        "Here is the rule you asked for:",
        "x = (",
        "\x00",
        f"{HEAD}    return 1.0\x00",
        "\udc80",
        b"\xff\xfe\x00",
        f"{HEAD}  return 1.0\n return 2.0",
        f"{HEAD}    return 0777",
        "{" * 150,
    ],
)
def test_what_is_not_python_is_a_syntax_rejection(source):
    assert rejection(source).kind == "syntax"


def test_a_byte_order_mark_does_not_matter():
    assert accepted("\ufeff" + HEAD + "    return 1.0").sha == accepted(HEAD + "    return 1.0").sha
    assert isinstance(check_source(b"\xef\xbb\xbf" + (HEAD + "    return 1.0").encode()), CheckedRule)


@pytest.mark.parametrize(
    "source",
    [
        "def score(f):\n    return 1.0",
        "import numpy as np",
        "def candidate_variable_score():\n    return 1.0",
        "def candidate_variable_score(a, b):\n    return 1.0",
        "def candidate_variable_score(a, b=1):\n    return 1.0",
        "def candidate_variable_score(f=1):\n    return 1.0",
        "def candidate_variable_score(*f):\n    return 1.0",
        "def candidate_variable_score(*, f):\n    return 1.0",
        "def candidate_variable_score(**f):\n    return 1.0",
        f"{HEAD}    return 1.0\n{HEAD}    return 2.0",
    ],
)
def test_the_asked_function_must_be_there_once_with_one_argument(source):
    assert rejection(source).kind == "signature"


@pytest.mark.parametrize(
    "body",
    [
        "return None",
        "return",
        "pass",
        "x = variable_features[0]",
        "if variable_features[0] > 0:\n        return 1.0",
        "for i in range(0):\n        return 1.0",
        "if variable_features[0] > 0:\n        return 1.0\n    elif variable_features[1] > 0:\n        return 2.0",
    ],
)
def test_a_path_without_a_number_is_a_type_rejection(body):
    assert rejection(f"{HEAD}    {body}\n").kind == "type"


FORBIDDEN = [  # beside the corpus of tests/hostile
    "return open('x')",
    "return __import__('os')",
    "return np.random.rand()",
    "return np.ctypeslib",
    "return variable_features.__class__",
    "return sum(variable_features[48:54])",
    "return max([variable_features[1], 2.0])",
    "return max(x for x in variable_features)",
    "return len(variable_features)",
    "return variable_features[48:54].sum()",
    "return variable_features.shape[0]",
    "return sorted((1.0, 2.0))[0]",
    "return max(variable_features[1])",
    "return range(3)",
    "return (1.0, 2.0)[0]",
    "return np.sum(variable_features)",
    "return variable_features[1] & 1",
    "x = 8.0\n    while x > 1.0:\n        x /= 2.0\n    return x",
    "t = 0.0\n    for x in variable_features:\n        t += x\n    return t",
    "for i in range(3):\n        break\n    return 1.0",
    "a, b = variable_features\n    return a",
    "def half(x):\n        return 0.5 * x\n    return half(variable_features[24])",
    "math.sqrt(2.0)\n    return 1.0",
    "return 'text'",
    "return {}",
    "return (x for x in variable_features)",
    "return lambda x: x",
    "return variable_features[0] in (1, 2)",
    "return variable_features @ variable_features",
    "return max(*variable_features)",
    "return max(1.0, 2.0, key=abs)",
    "return variable_features[1, 2]",
    "return np.exp",
    "return np",
    "return max",
    "f = np.exp\n    return f(1.0)",
    "return undefined",
    "return candidate_variable_score(variable_features)",
    "import os\n    return 1.0",
    "from os import system\n    return 1.0",
    "from numpy import load\n    return 1.0",
    "from math import sqrt, gamma\n    return 1.0",
    "if True:\n        import math\n    return 1.0",
    "global x\n    return 1.0",
    "try:\n        return 1.0\n    except Exception:\n        return 0.0",
    "variable_features[3] = 0.0\n    return 1.0",
    "variable_features[3] += 1.0\n    return 1.0",
    "variable_features[3:5] = 0.0\n    return 1.0",
    "x = [1.0]\n    x[0] = 2.0\n    return 1.0",
    "np.pi = 3.0\n    return 1.0",
    "np = 3.0\n    return 1.0",
    "math = 3.0\n    return 1.0",
    "for np in range(3):\n        pass\n    return 1.0",
    "__builtins__ = 1.0\n    return 1.0",
    "_bife_max = 1.0\n    return _bife_max",
    "__1 = 1.0\n    return __1",
    "a, *b = variable_features\n    return 1.0",
    "for i in range(3):\n        pass\n    else:\n        return 1.0\n    return 2.0",
    "max = 1.0\n    return max(1.0, 2.0)",
    "return float('1e3')",
    "return float('inf ' + 'x')",
    "return round(variable_features[1], int(variable_features[2]))",
    "return math.sqrt()",
    "return np.maximum(1.0)",
    "return np.clip(1.0)",
    "return 99999999999999999999",
    "match variable_features[0]:\n        case 1:\n            return 1.0\n    return 2.0",
]


@pytest.mark.parametrize("body", FORBIDDEN)
def test_everything_else_is_refused(body):
    found = compile_rule(f"{HEAD}    {body}\n")
    assert isinstance(found, Rejection), f"accepted: {body}"
    assert found.kind in ("forbidden", "syntax", "signature", "type"), found
    assert re.fullmatch(r"[A-Z][^\n]*\.", found.reason), found.reason


@pytest.mark.parametrize(
    "source",
    [
        f"import os\n{HEAD}    return 1.0",
        f"print('x')\n{HEAD}    return 1.0",
        f"X = open('x')\n{HEAD}    return 1.0",
        f"X = [0] * f()\n{HEAD}    return 1.0",
        f"X = 'text'\n{HEAD}    return 1.0",
        f"np = 1\n{HEAD}    return 1.0",
        f"max = 1\n{HEAD}    return 1.0",
        f"X = 1\nX = 2\n{HEAD}    return X",
        f"X, Y = 1\n{HEAD}    return X",
        f"while True: pass\n{HEAD}    return 1.0",
        f"@staticmethod\n{HEAD}    return 1.0",
        f"class A: pass\n{HEAD}    return 1.0",
        f"def abs(x):\n    return x\n{HEAD}    return abs(1.0)",
        f"def a(x):\n    return b(x)\ndef b(x):\n    return a(x)\n{HEAD}    return a(1.0)",
        f"def a(*x):\n    return 1.0\n{HEAD}    return a(1.0)",
        f"def a(x=open('x')):\n    return x\n{HEAD}    return a()",
        f"def a(x):\n    return x\n{HEAD}    return a()",
        f"def a(x):\n    return x\n{HEAD}    return a(1.0, y=2.0)",
        f"def a(x):\n    return x\n{HEAD}    return a(1.0, x=2.0)",
        f"def a(x):\n    return x\n{HEAD}    return a",
        f"def range(x):\n    return x\n{HEAD}    return range(1.0)",
        f"X = (0.5, 0.25)\n{HEAD}    return X[0]",
        f"{HEAD}    return 1.0\ncandidate_variable_score(1)",
        f"if True:\n    {HEAD}        return 1.0",
        "X = 1 + 1\n"
        + "".join(f"X{i + 1} = X{i or ''} + X{i or ''}\n" for i in range(40))
        + f"{HEAD}    return X40",
    ],
)
def test_only_imports_constants_and_functions_stand_outside(source):
    assert rejection(source).kind in ("forbidden", "signature")


def test_a_refusal_names_the_line():
    source = "import math\n\ndef candidate_variable_score(f):\n    x = f[0]\n    return open(x)\n"
    assert rejection(source).reason == "Line 5: open is not among the functions a rule may use."


REJECTED = {
    "return variable_features * 2.0": "one number is needed here, such as variable_features[20]",
    "return math.sqrt(variable_features)": "one number is needed here",
    "if variable_features:\n        return 1.0\n    return 0.0": "one number is needed here",
    "x = variable_features[1]\n    return x[0]": "a number has no elements",
    "return variable_features[int(variable_features[3])]": "the index of a feature must be a constant integer",
    "for i in range(int(variable_features[1])):\n        pass\n    return 1.0": "must be constant integers",
    "for i in range(0, 1, 0):\n        pass\n    return 1.0": "its step not 0",
    "if variable_features[0] > 0:\n        a = 1.0\n    return a": "the name 'a' may be read before it is assigned",
    "for i in range(0):\n        a = 1.0\n    return a": "the name 'a' may be read before it is assigned",
    "a += 1.0\n    return a": "the name 'a' may be read before it is assigned",
    "f = variable_features\n    if f[1] > 0:\n        f = 1.0\n    return f": "the name 'f' may be read before",
    "return [variable_features[1]]": "the function returns a sequence; a score must be one number",
}


@pytest.mark.parametrize("body", REJECTED)
def test_what_is_no_number_is_rejected_in_a_sentence(body):
    found = rejection(f"{HEAD}    {body}\n")
    assert found.kind == "type"
    assert REJECTED[body] in found.reason
    assert found.reason.startswith("Line ")


def test_the_features_as_a_whole_are_no_argument_of_a_helper():
    found = rejection(f"def g(v):\n    return v\n{HEAD}    return g(variable_features)")
    assert found.reason == "Line 4: one number is needed here, such as variable_features[20]."


READ = {
    "return 0.0": set(),
    "g = f\n    h = g\n    return h[3] + f[18] * f[20]": {3, 18, 20},
    "a, b = f[1], f[2]\n    return a + b": {1, 2},
    "g, k = f, 5\n    return g[k + 1] + f[2 * k - 1]": {6, 9},
    "t = 0.0\n    for i in range(48, 72, 6):\n        t += f[i]\n    return t": {48, 54, 60, 66},
    "t = 0.0\n    for i in range(2):\n        for j in range(i, 3):\n            t += f[10 * i + j]\n    return t": {
        0, 1, 2, 11, 12,
    },
    "k = 1\n    for i in range(2):\n        k = k + 1\n    return f[k]": {3},
    "if f[0] > 0:\n        k = 4\n    else:\n        k = 4\n    return f[k]": {0, 4},
    "return f[1]\n    x = f[2]\n    return x": {1},
}  # fmt: skip


@pytest.mark.parametrize("body", READ)
def test_exactly_the_features_it_reads_are_known(body):
    """The extractor computes only what is named here, so no other feature may change a score."""
    rule = compile_rule(f"def candidate_variable_score(f):\n    {body}\n")
    assert rule.features == frozenset(READ[body])
    one, two = np.random.default_rng(0).uniform(0.5, 2.0, (2, 40, N_FEATURES))
    two[:, sorted(rule.features)] = one[:, sorted(rule.features)]
    np.testing.assert_array_equal(rule.score(one), rule.score(two))


def test_an_index_that_depends_on_the_path_is_not_constant():
    found = rejection(
        f"{HEAD}    k = 3\n    if variable_features[1] > 0:\n        k = 4\n    return variable_features[k]"
    )
    assert found.reason == "Line 5: the index of a feature must be a constant integer."


@pytest.mark.parametrize(
    "index", ["-1", f"{N_FEATURES}", "1000", f"-{N_FEATURES}", "BAD", f"{N_FEATURES - 1} + 1", "18.0"]
)
def test_an_index_outside_the_table_is_refused(index):
    found = rejection(f"BAD = {N_FEATURES}\n{HEAD}    return variable_features[{index}]")
    assert "Line 3: " in found.reason
    assert "index" in found.reason


@pytest.mark.parametrize(
    "source",
    [
        "#" * 20_001,
        HEAD + "    return " + "(" * 95 + "1.0" + ")" * 95 + " + " + "-" * 120 + "1.0",
        HEAD + "    return " + "not " * 3000 + "1",
        HEAD + "    return " + " + ".join(["1.0"] * 150),
        HEAD + "    x = 0.0\n" + "    x = x + 1.0\n" * 700 + "    return x",
        "-" * 15_000 + "1",
        HEAD + "    for i in range(1000000000):\n        pass\n    return 1.0",
        HEAD
        + "    x = 0.0\n"
        + "    for i in range(90):\n        for j in range(90):\n            x += i\n"
        + "    return x",
        "def g0(x):\n    return x + x\n"
        + "".join(f"def g{i + 1}(x):\n    return g{i}(x) + g{i}(x)\n" for i in range(15))
        + HEAD
        + "    return g15(1.0)",
        "".join(f"def g{i}(x):\n    return x\n" for i in range(30)) + HEAD + "    return 1.0",
    ],
)
def test_size_and_depth_are_limited(source):
    assert rejection(source).kind == "forbidden"


def test_checking_near_the_end_of_the_stack_is_a_rejection_not_a_crash():
    source = HEAD + "    return " + "-" * 90 + "variable_features[1]"

    def deep(n: int):
        return check_source(source) if n == 0 else deep(n - 1)

    for depth in range(500, 1000, 20):
        try:
            found = deep(depth)
        except RecursionError:
            break  # pytest's own frames and ours left no room for the call itself
        assert isinstance(found, CheckedRule | Rejection)
    else:
        pytest.fail("the stack never ended")


@given(st.text(max_size=300))
def test_any_text_gives_an_answer(text):
    assert isinstance(check_source(text), CheckedRule | Rejection)


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer(data):
    assert isinstance(check_source(data), CheckedRule | Rejection)


@given(st.text(alphabet="fx01 .()[]:=+-*/<>\n\t,'\"_npmathreturnifor#", max_size=200))
def test_any_body_gives_an_answer(text):
    body = "\n".join(f"    {line}" for line in text.split("\n"))
    assert isinstance(check_source(HEAD + body), CheckedRule | Rejection)


def test_every_rule_of_the_offline_grammar_is_a_scalar_program():
    found = [check_source(source) for source in offline(200, seed=0)]
    assert [rule for rule in found if not isinstance(rule, CheckedRule)] == []


def test_references_and_offline_rules_compile_and_what_is_rejected_is_counted():
    X = features(20)
    for group in ([rule.source for rule in REFERENCE_RULES.values()], list(offline(12, seed=7))):
        counted = acceptance(group, X)
        assert counted["compiled"] == counted["rules"] == len(group), counted
    counted = acceptance(["def candidate_variable_score(f):\n    return f\n"], features(1))
    assert (counted["rules"], counted["compiled"]) == (1, 0)
    assert counted["rejected"] == ["Line 2: one number is needed here, such as variable_features[20]."]
