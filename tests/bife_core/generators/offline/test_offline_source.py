from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from bife_core.features import FEATURES, N_FEATURES
from bife_core.generators.offline.expression import (
    Leaf,
    Node,
    Operation,
    leaves,
    product,
    weighted_sum,
)
from bife_core.generators.offline.foreign import tune_source
from bife_core.generators.offline.priors import sample_rule
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.syntax import features_read
from bife_core.generators.offline.writer import describe, write
from bife_core.rules import REFERENCE_RULES

UP, DOWN = Leaf(20), Leaf(21)
ONE_OF_EACH: list[Node] = [
    Leaf(18),
    Leaf(0),
    Leaf(36),
    Leaf(14),
    Operation("min", (UP, DOWN)),
    Operation("max", (UP, DOWN)),
    Operation("geometric", (UP, DOWN)),
    Operation("harmonic", (UP, DOWN)),
    Operation("blend", (UP, DOWN), (0.17,)),
    Operation("log1p", (UP,), (1.0,)),
    Operation("log1p", (UP,), (0.3,)),
    Operation("tanh", (UP,), (3.0,)),
    Operation("saturation", (UP,), (0.5,)),
    Operation("bonus", (UP,), (1.0,)),
    Operation("bonus", (Operation("min", (UP, DOWN)),), (0.25,)),
    product((UP, -1.0), (DOWN, 2.0)),
    product((UP, 0.5), (DOWN, -0.33)),
    weighted_sum((UP, 1.0), (DOWN, 0.5), (Leaf(18), 12.0)),
    product((Operation("bonus", (product((Leaf(23), 0.5)),), (0.1,)), -1.0), (Leaf(67), 1.0)),
    product(*((Leaf(index), 1.5) for index in (48, 54, 60, 66, 67, 68))),
    Operation("blend", (Operation("harmonic", (Leaf(57), Leaf(63))), Leaf(69)), (0.17,)),
    Operation("blend", (Leaf(57), Leaf(69)), (0.17,)),
    weighted_sum(*((Operation("log1p", (Leaf(index),), (1.0,)), 1.5) for index in (48, 54, 60, 66, 67, 68))),
]
SAMPLES = [sample_rule(np.random.default_rng(seed)) for seed in range(200)]


@pytest.mark.parametrize("tree", ONE_OF_EACH, ids=describe)
def test_every_kind_of_tree_is_read_back_exactly(tree: Node) -> None:
    assert read(write(tree)) == tree


def test_sampled_trees_are_read_back_exactly() -> None:
    assert [read(write(tree)) for tree in SAMPLES] == SAMPLES


def test_the_source_is_tidy_python() -> None:
    for tree in SAMPLES + ONE_OF_EACH:
        source = write(tree)
        ast.parse(source)
        assert max(len(line) for line in source.splitlines()) <= 110
        assert source.endswith("\n")
        assert ("import math" in source) == ("math." in source)
        assert set(features_read(source)) == set(leaves(tree)) != set()


def test_variables_are_named_after_features_and_each_once() -> None:
    for tree in SAMPLES:
        assigned = re.findall(r"^    (\w+) = ", write(tree), re.MULTILINE)
        assert len(assigned) == len(set(assigned))
        assert {FEATURES[index].name for index in leaves(tree)} <= set(assigned)


def test_descriptions_name_every_feature_and_number() -> None:
    tree = product(
        (Leaf(18), 1.0),
        (Operation("harmonic", (UP, DOWN)), 1.3),
        (Operation("bonus", (Leaf(0),), (0.7,)), -1.0),
    )
    described = describe(tree)
    assert described == "slack x harmonic mean(pseudocost_up, pseudocost_down)^1.3 / (1 + 0.7 |obj_coef|)"


def body(lines: str) -> str:
    return "import math\n\ndef candidate_variable_score(f):\n" + "".join(
        f"    {line}\n" for line in lines.split("; ")
    )


@pytest.mark.parametrize(
    ("lines", "tree"),
    [
        ("return f[18] * f[24]", product((Leaf(18), 1.0), (Leaf(24), 1.0))),
        ("v = f; return max(v[18], 1e-10) * 3.0", Leaf(18)),
        ("return 100 * math.sqrt(f[20] * f[21])", Operation("geometric", (UP, DOWN))),
        ("return math.sqrt(f[24]) / 2", product((Leaf(24), 0.5))),
        ("a = f[20] / (f[20] + 0.5); return 2.0 * a", Operation("saturation", (UP,), (0.5,))),
        ("a = 0.5 * f[20]; return f[21] + 3 * a", weighted_sum((DOWN, 1.0), (UP, 1.5))),
        ("return max(f[18] * f[24], 0.0)", product((Leaf(18), 1.0), (Leaf(24), 1.0))),
        ("return f[18] * (1 + 0.5 * f[48])", product((Leaf(18), 1.0), (Operation("bonus", (Leaf(48),), (0.5,)), 1.0))),
        ("a, b = f[20], f[21]; return 2.0 * a * b / (a + b)", Operation("harmonic", (UP, DOWN))),
        ("n = 18; return f[n]", Leaf(18)),
        ("return min(f[18], 100.0)", Leaf(18)),
        ("return f[20] if f[20] > 0 and f[21] > 1e-9 else 0.0", UP),
        ("return 0.0 if f[20] <= 0 or f[21] <= 1e-9 else f[21]", DOWN),
    ],
)  # fmt: skip
def test_simple_rules_of_others_are_read_too(lines: str, tree: Node) -> None:
    assert read(body(lines)) == tree


@pytest.mark.parametrize(
    "source",
    [
        "",
        "not python at all (",
        "x = 1",
        "def other(f):\n    return f[18]\n",
        "def candidate_variable_score(f, g):\n    return f[18]\n",
        body("pass"),
        body("return 1.0"),
        body("return f[18] - f[19]"),
        body("return min(f[20], 5.0)"),
        body("return f[i]"),
        body(f"return f[{N_FEATURES}]"),
        body("return f[18] ** f[19]"),
        body("return -1.0 * f[18]"),
        body("return f[18] / 0.0"),
        body("return unknown"),
        body("return math.sin(f[18])"),
        body("if f[18] > 0.1: return f[20]; return f[21]"),
        body("return f[20] if f[18] > f[19] else f[21]"),
        body("return helper(f)"),
        body("for i in range(3): pass; return f[18]"),
        body("return f[18] / f[18]"),
    ],
)
def test_what_is_no_tree_of_the_grammar_is_said_to_be_none(source: str) -> None:
    assert read(source) is None


def test_named_constants_helpers_and_guards_are_followed() -> None:
    source = """
UP, DOWN = 20, 21
FLOOR = 1e-9

def mean(a, b):
    if a > 0 and b > 0:
        return 2.0 / (1.0 / a + 1.0 / b)
    return max(a, b)

def gain(features):
    return max(features[UP], FLOOR)

def candidate_variable_score(variable_features):
    f = variable_features
    if f[UP] <= 0:
        return 0.0
    return mean(gain(f), f[DOWN])
"""
    assert read(source) == Operation("harmonic", (UP, DOWN))
    assert read(source.replace("return max(features[UP], FLOOR)", "return gain(features)")) is None
    assert read(source.replace("UP, DOWN = 20, 21", "UP, DOWN = 20, 21 + x")) is None


def test_all_reference_rules_are_read_or_at_least_their_features() -> None:
    trees = {name: read(rule.source) for name, rule in REFERENCE_RULES.items()}
    assert trees["paper_ca"] == product(
        (Leaf(18), 1.0), (Operation("harmonic", (UP, DOWN)), 1.0), (Leaf(67), 2.0)
    )
    for name, rule in REFERENCE_RULES.items():
        assert features_read(rule.source), name
        tree = trees[name]
        if tree is not None:
            assert set(leaves(tree)) == set(features_read(rule.source)), name


@pytest.mark.parametrize("depth", [50, 5000])
def test_deep_nesting_is_no_obstacle_to_an_answer(depth: int) -> None:
    source = body("return " + "(" * depth + "f[18]" + " + 1)" * depth)
    assert (read(source) is None) == (depth == 5000)
    assert features_read(source) == (() if depth == 5000 else (18,))


def test_features_of_any_rule_are_found_in_order() -> None:
    source = body(
        "g = f; x = g[20] if f[18] > 0.5 else f[21]; y = other[3]; return x + f[71] + f[i] + f[20] + f[999]"
    )
    assert features_read(source) == (20, 18, 21, 71)
    assert features_read("nonsense (") == ()
    assert max(features_read(source)) < N_FEATURES


FOREIGN = '''def candidate_variable_score(variable_features):
    """Threshold 0.25 decides."""
    up = max(variable_features[20], 1e-9)  # größer als 0.5
    if variable_features[18] > 0.25:
        return 2.5 * up + 3 * variable_features[21]
    return up ** 0.5
'''


def test_numbers_of_foreign_rules_are_tuned_in_place() -> None:
    changed = [tune_source(np.random.default_rng(seed), FOREIGN) for seed in range(20)]
    for source in changed:
        assert source is not None
        for kept in (
            '"""Threshold 0.25 decides."""',
            "[20], 1e-9)  # größer als 0.5",
            "[18] > ",
            "+ 3 * variable",
        ):
            assert kept in source
        assert len(list(ast.walk(ast.parse(source)))) == len(list(ast.walk(ast.parse(FOREIGN))))
    assert len(set(changed)) > 15


def test_a_rule_without_numbers_cannot_be_tuned() -> None:
    assert tune_source(np.random.default_rng(0), body("return f[18]")) is None
    assert tune_source(np.random.default_rng(0), "nonsense (") is None
