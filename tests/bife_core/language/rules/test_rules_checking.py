"""What a rule may say, and that every rejection is one sentence naming the line."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bench.fidelity import offline
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, check_source, compile_rule
from bife_core.language.rules.types import Program, Rejection

HEAD = "def candidate_variable_score(variable_features):\n"


def rejection(source):
    answer = check_source(source)
    assert isinstance(answer, Rejection), f"accepted: {source!r}"
    assert re.fullmatch(r"[A-Z][^\n]*\.", answer.reason), answer.reason
    return answer


@pytest.mark.parametrize(
    "source",
    [
        '"""Doc."""\nimport numpy as np\nimport math\n'
        'def candidate_variable_score(v: list) -> float:\n    """Doc."""\n    return 1',
        f"{HEAD}    from math import sqrt as root, pi\n    return root(variable_features[18]) * pi",
        f"{HEAD}    import numpy as xp\n    return xp.log1p(variable_features[18])",
        f"{HEAD}    f = variable_features\n    x: float = f[1]\n    x += f[2]\n    return x if x > 0 else -x",
        f"{HEAD}    a, b = variable_features[1], variable_features[2]\n    return max(a, b, 0.5) - min(a, b)",
        f"{HEAD}    return float('-inf') if variable_features[3] == 0 else float('inf')",
        f"{HEAD}    max = variable_features[1]\n    return max * 2.0",
        "SLACK, UP = 18, 20\nEPS: float = 1e-9 * 2\n"
        "def safe(a, b, eps=1e-9):\n    return a / max(b, eps)\n"
        f"{HEAD}    return safe(variable_features[SLACK], b=variable_features[UP]) + EPS\n",
        "\ufeff" + HEAD + "    return 1.0",
        b"\xef\xbb\xbf" + (HEAD + "    return 1.0").encode(),
    ],
)
def test_ordinary_rules_are_accepted(source):
    assert isinstance(answer := check_source(source), Program), answer


REJECTED = [  # beside the corpus of tests/hostile
    ("no_code", b""),
    ("syntax", b"\xff\xfe\x00"),
    ("type", f"{HEAD}    a += 1.0\n    return a"),
    (
        "type",
        f"{HEAD}    k = 3\n    if variable_features[1] > 0:\n        k = 4\n    return variable_features[k]",
    ),
    ("forbidden", f"{HEAD}    return float('1e3')"),
    ("forbidden", f"{HEAD}    return 1.0\n    return open('x')"),
    ("forbidden", f"{HEAD}    return variable_features[-1]"),
    ("forbidden", f"def a(x, y):\n    return x\n{HEAD}    return a(1.0)"),
    ("forbidden", f"def a(x):\n    return x\ndef unused(x):\n    return open(x)\n{HEAD}    return a(1.0)"),
]


@pytest.mark.parametrize(("kind", "source"), REJECTED)
def test_what_is_no_rule_is_rejected_by_its_kind(kind, source):
    answer = rejection(source)
    assert answer.kind == kind, answer
    assert compile_rule(source) == answer


READ = {
    "return 0.0": set(),
    "g = f\n    h = g\n    return h[3] + f[18] * f[20]": {3, 18, 20},
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
    first, second = np.random.default_rng(0).uniform(0.5, 2.0, (2, 40, BRANCHING.n_features))
    second[:, sorted(rule.features)] = first[:, sorted(rule.features)]
    np.testing.assert_array_equal(rule.score(first), rule.score(second))


def test_checking_near_the_end_of_the_stack_is_a_rejection_not_a_crash():
    source = HEAD + "    return " + "-" * 90 + "variable_features[1]"

    def deep(n):
        return check_source(source) if n == 0 else deep(n - 1)

    for depth in range(500, 1000, 20):
        try:
            answer = deep(depth)
        except RecursionError:
            break  # pytest's own frames and ours left no room for the call itself
        assert isinstance(answer, Program | Rejection)
    else:
        pytest.fail("the stack never ended")


@given(st.text(max_size=300) | st.binary(max_size=200))
def test_any_text_gives_an_answer(text):
    assert isinstance(check_source(text), Program | Rejection)


@given(st.text(alphabet="fx01 .()[]:=+-*/<>\n\t,'\"_npmathreturnifor#", max_size=200))
def test_any_body_gives_an_answer(text):
    body = "\n".join(f"    {line}" for line in text.split("\n"))
    assert isinstance(check_source(HEAD + body), Program | Rejection)


def test_references_and_offline_rules_compile():
    for source in [*(rule.source for rule in REFERENCE_RULES.values()), *offline(12, seed=7)]:
        assert isinstance(rule := compile_rule(source), CompiledRule), (rule, source)


def test_a_rule_that_returns_its_features_is_told_what_is_needed():
    answer = rejection("def candidate_variable_score(f):\n    return f\n")
    assert answer.reason == "Line 2: one number is needed here, such as variable_features[0]."
