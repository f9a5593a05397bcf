"""Paths through a rule: which names may be read too early, and what becomes of such a rule."""

from __future__ import annotations

import numpy as np
import pytest

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules import compile_rule
from bife_core.rules.checked import CheckedRule, check_source

HEAD = "def candidate_variable_score(f):\n    "

ASSIGNED = [
    "a = 1.0\n    return a",
    "if f[0] > 0:\n        a = 1.0\n    else:\n        a = 2.0\n    return a",
    "if f[0] > 0:\n        return 0.0\n    else:\n        a = 2.0\n    return a",
    "a = 0.0\n    for i in range(3):\n        a = a + i\n    return a",
    "for i in range(3):\n        if i > 1:\n            continue\n        b = i\n    return f[0]",
    "return sum([x * y for x in (1.0, 2.0) for y in (x, 1.0) if y > 0])",
    "a = b = 1.0\n    (c, d), e = (a, b), 1.0\n    return a + b + c + d + e",
    "while True:\n        a = 1.0\n        return a",
]

EARLY = {
    "if f[0] > 0:\n        a = 1.0\n    return a": "a",
    "for i in range(3):\n        a = 1.0\n    return a": "a",
    "for i in range(3):\n        pass\n    return i": "i",
    "while f[0] > 0:\n        a = 1.0\n        break\n    return a": "a",
    "x = [y for y in (1.0, 2.0)]\n    return y": "y",
    "b = a\n    a = 1.0\n    return b": "a",
    "a += 1.0\n    return a": "a",
    "for i in range(2):\n        if i > 0:\n            b = c\n        c = 1.0\n    return 0.0": "c",
}


def early_name(body: str) -> str | None:
    checked = check_source(HEAD + body)
    assert isinstance(checked, CheckedRule), checked
    return checked.unassigned


@pytest.mark.parametrize("body", ASSIGNED)
def test_always_assigned(body):
    assert early_name(body) is None


@pytest.mark.parametrize("body", EARLY)
def test_may_be_read_too_early(body):
    assert early_name(body) == EARLY[body]


def test_such_a_rule_runs_as_python_does():
    rule = compile_rule(HEAD + "if f[0] > 0:\n        a = 1.0\n    return a * 2.0")
    assert not rule.native
    assert "'a'" in rule.why
    good = np.ones((3, N_FEATURES))
    assert rule.score(good).tolist() == [2.0, 2.0, 2.0]
    bad = good.copy()
    bad[1] = -1.0
    with pytest.raises(RuleError, match=r"candidate 1 \(line 4, UnboundLocalError"):
        rule.score(bad)
