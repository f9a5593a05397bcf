"""Paths through a rule: a name that some path reads too early is a reason to reject it."""

from __future__ import annotations

import pytest

from bife_core.rules.checked import CheckedRule, check_source
from bife_core.rules.types import Rejection

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


@pytest.mark.parametrize("body", ASSIGNED)
def test_always_assigned(body):
    assert isinstance(check_source(HEAD + body), CheckedRule)


@pytest.mark.parametrize("body", EARLY)
def test_may_be_read_too_early(body):
    found = check_source(HEAD + body)
    assert isinstance(found, Rejection)
    assert found.kind == "type"
    assert found.reason.endswith(f": the name {EARLY[body]!r} may be read before it is assigned.")


def test_what_no_path_reaches_is_left_out():
    after = "return f[1]\n    x = 0.0\n    while x < 1.0:\n        x = f[2]\n    return x"
    checked = check_source(HEAD + after)
    assert isinstance(checked, CheckedRule)
    assert checked.features == frozenset({1})
