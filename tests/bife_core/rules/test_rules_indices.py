"""Which features a rule reads: exact where the text tells, None where it does not, never too few."""

from __future__ import annotations

import numpy as np
import pytest

from bife_core.features import N_FEATURES
from bife_core.rules import compile_rule
from bife_core.rules.checked import CheckedRule, check_source

HEAD = "def candidate_variable_score(f):\n    "


def features(source: str) -> frozenset[int] | None:
    checked = check_source(source)
    assert isinstance(checked, CheckedRule), checked
    return checked.features


KNOWN = {
    "return 0.0": set(),
    "return f[18] * f[20] + f[18]": {18, 20},
    "g = f\n    h = g\n    return h[3]": {3},
    "a, b = f[1], f[2]\n    return a + b": {1, 2},
    "k = 5\n    return f[k]": {5},
    "k = 5\n    return f[k + 1] + f[2 * k - 1]": {6, 9},
    "t = 0.0\n    for i in range(48, 72, 6):\n        t += f[i]\n    return t": {48, 54, 60, 66},
    "t = 0.0\n    for i in (1, 5, 7):\n        t += f[i] * f[i + 1]\n    return t": {1, 2, 5, 6, 7, 8},
    "ids = [4, 6]\n    return sum(f[i] for i in ids)": {4, 6},
    "return f[48:54].sum()": set(range(48, 54)),
    "return f[:3].sum() + f[70:].sum() + f[10:20:5].sum()": {0, 1, 2, 70, 71, 10, 15},
    "return f[-2:].sum()": {70, 71},
    "return f[1] / len(f) + f.shape[0] + f.size": {1},
    "k = 3\n    if f[1] > 0:\n        k = 4\n    return f[k]": {1, 3, 4},
    "return f[1] if f[2] > f[3] else f[4]": {1, 2, 3, 4},
    "x = f[1]\n    x = x + f[2]\n    return x": {1, 2},
    "return np.sum(f[:2]) + np.asarray(f, dtype=float)[3]": {0, 1, 3},
    "k = 1\n    k = k + 1\n    return f[k]": {2},
    "g = (f, f)\n    return g[0][1]": {1},
    "g = f[10:20:3]\n    return g[int(g[-1] * 0.0)]": {10, 13, 16, 19},
    "w = (3, 5)\n    t = 0.0\n    for i in range(2):\n        t += f[w[i]]\n    return t": {3, 5},
    "t = 0.0\n    for k, w in zip((4, 6), (0.5, 2)):\n        t += f[k] * w\n    return t": {4, 6},
    "t = 0.0\n    for i, x in enumerate(f[7:9]):\n        t += x * i\n    return t": {7, 8},
    "return sum(x for x in f[1:3] if f[5] > x)": {1, 2, 5},
    "return max(f)": set(range(N_FEATURES)),
}

UNKNOWN = [
    "return f[int(f[3])]",
    "t = 0.0\n    for i in range(int(f[3])):\n        t += f[i]\n    return t",
    "t = 0.0\n    for i in range(70, 75):\n        t += f[min(i, 71)]\n    return t",
    "k = 1\n    for i in range(2):\n        k = k + 1\n    return f[k]",
    "k = 1\n    while f[0] > k:\n        k = k + 1\n    return f[min(k, 71)]",
]


@pytest.mark.parametrize("body", KNOWN)
def test_known(body):
    assert features(HEAD + body) == frozenset(KNOWN[body])


@pytest.mark.parametrize("body", UNKNOWN)
def test_unknown(body):
    assert features(HEAD + body) is None


def test_helpers_are_followed():
    source = "I = 7\ndef g(v, k):\n    return v[I] + v[9] * k\n" + HEAD + "return g(f, f[2]) + g(f, 1.0)"
    assert features(source) == frozenset({2, 7, 9})


def test_a_helper_made_for_the_vector_reads_it_and_another_does_not():
    source = "def g(v, k):\n    return v * 2.0 + k\ndef h(v, k):\n    return v[1] + k\n" + HEAD
    assert features(source + "return g(f[4], 1.0) + h(f, f[3])") == frozenset({1, 3, 4})


@pytest.mark.parametrize("body", [*KNOWN, *UNKNOWN])
def test_no_other_feature_changes_a_score(body):
    """The extractor computes only what is named here, so this must hold for every rule."""
    rule = compile_rule(HEAD + body)
    rng = np.random.default_rng(0)
    one = rng.uniform(0.5, 2.0, (40, N_FEATURES))
    two = rng.uniform(0.5, 2.0, (40, N_FEATURES))
    read = sorted(range(N_FEATURES) if rule.features is None else rule.features)
    two[:, read] = one[:, read]
    np.testing.assert_array_equal(rule.score(one), rule.score(two))


def test_many_names_that_depend_on_each_other_take_no_time():
    lines = ["a0 = 1"] + [f"a{i} = a{i - 1} + a{i - 1} * 0 + a{i - 1} * 0" for i in range(1, 60)]
    assert features(HEAD + "\n    ".join([*lines, "return f[a59 * 0]"])) == frozenset({0})
