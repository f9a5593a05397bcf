"""Skeletons: read, set to numbers, refused with a reason."""

from __future__ import annotations

import pytest

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules import compile_rule
from bife_core.rules.skeletons import parse_skeleton

GOOD = '''
import math

BOUNDS = {"power": (0.5, 2), "shift": (-1.0, 1.0)}


def helper(x):
    return x**power


def candidate_variable_score(variable_features, power=1.5, shift=-0.25) -> float:
    """Score."""
    return helper(variable_features[18]) + shift * math.sqrt(variable_features[24])
'''
HEAD = 'BOUNDS = {"a": (0.0, 1.0)}\n'


def test_parameters_have_names_values_and_bounds() -> None:
    power, shift = parse_skeleton(GOOD).parameters
    assert (power.name, power.value, power.low, power.high) == ("power", 1.5, 0.5, 2.0)
    assert (shift.name, shift.value, shift.low, shift.high) == ("shift", -0.25, -1.0, 1.0)


def test_a_skeleton_may_assign_to_its_parameters() -> None:
    skeleton = parse_skeleton(
        'BOUNDS = {"weight": (0.0, 2.0)}\n\n\n'
        'def candidate_variable_score(f, weight=0.5):\n    """Clamped."""\n    weight = max(weight, 0.1)\n'
        "    weight *= 2\n    return weight * f[18]\n"
    )
    features = [[float(index) for index in range(N_FEATURES)]]
    for weight, expected in ((0.0, 0.2 * 18), (1.5, 3.0 * 18)):
        (score,) = compile_rule(skeleton.bound({"weight": weight})).score(features)
        assert score == pytest.approx(expected)


def test_a_bound_skeleton_is_a_rule_and_helpers_see_its_parameters() -> None:
    skeleton = parse_skeleton(GOOD)
    features = [[float(index) for index in range(N_FEATURES)]]
    for values, expected in (
        (None, 18**1.5 - 0.25 * 24**0.5),
        ({"power": 2.0}, 18**2 - 0.25 * 24**0.5),
        ({"power": 1.0, "shift": 1.0}, 18 + 24**0.5),
    ):
        (score,) = compile_rule(skeleton.bound(values)).score(features)
        assert score == pytest.approx(expected)


def test_setting_parameters_keeps_the_skeleton() -> None:
    moved = parse_skeleton(GOOD).set_to({"shift": 0.5})
    again = parse_skeleton(moved.source)
    assert again == moved
    assert [parameter.value for parameter in again.parameters] == [1.5, 0.5]


def test_a_plain_rule_is_a_skeleton_without_parameters() -> None:
    source = "def candidate_variable_score(variable_features):\n    return variable_features[18]\n"
    skeleton = parse_skeleton(source)
    assert skeleton.parameters == ()
    assert skeleton.bound() == source


def test_a_value_outside_its_bounds_is_moved_to_the_nearest() -> None:
    skeleton = parse_skeleton(HEAD + "def candidate_variable_score(f, a=7):\n    return f[18] * a\n")
    assert skeleton.parameters[0].value == 1.0


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def candidate_variable_score(f:\n", "no valid Python"),
        ("def score(f):\n    return f[18]\n", "has no function"),
        (HEAD + "def candidate_variable_score(f, a):\n    return a\n", "needs a number as its default"),
        (HEAD + "def candidate_variable_score(f, a='x'):\n    return a\n", "must be a number"),
        (HEAD + "def candidate_variable_score(f, a=True):\n    return a\n", "must be a number"),
        (HEAD + "def candidate_variable_score(f, b=1.0):\n    return b\n", "`b` has no bounds"),
        (HEAD + "def candidate_variable_score(f, *, a=1.0):\n    return a\n", "plain arguments"),
        ("BOUNDS = {'a': (1.0, 1.0)}\ndef candidate_variable_score(f, a=1.0):\n    return a\n", "low, high"),
        ("BOUNDS = {'a': 3}\ndef candidate_variable_score(f, a=1.0):\n    return a\n", "two numbers"),
        ("BOUNDS = [1]\ndef candidate_variable_score(f, a=1.0):\n    return a\n", "must be a dictionary"),
    ],
)
def test_what_is_no_skeleton_is_refused_with_the_reason(source: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        parse_skeleton(source)
