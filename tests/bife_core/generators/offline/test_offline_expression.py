from __future__ import annotations

import numpy as np
import pytest

from bife_core.features import FEATURES, N_FEATURES, feature_index
from bife_core.generators.offline.expression import (
    Leaf,
    Node,
    Operation,
    components,
    leaves,
    product,
    rebuilt,
    replaced,
    role,
    role_of_feature,
    settled,
    skeleton,
    tidy,
    walk,
    weighted_sum,
    with_numbers,
)
from bife_core.generators.offline.priors import sample_rule

SLACK, UP, DOWN, ACTIVE = Leaf(18), Leaf(20), Leaf(21), Leaf(48)
SAMPLES = [sample_rule(np.random.default_rng(seed)) for seed in range(60)]


def test_products_open_nested_products_and_join_equal_factors() -> None:
    inner = product((SLACK, 2.0), (UP, 1.0))
    assert product((inner, 0.5), (SLACK, 1.0)) == Operation("product", (SLACK, UP), (2.0, 0.5))


def test_a_product_of_one_plain_factor_is_that_factor() -> None:
    assert product((SLACK, 1.0)) == SLACK
    assert product((SLACK, 1.0), (UP, 1.0), (UP, -1.0)) == SLACK


def test_a_product_whose_factors_cancel_is_refused() -> None:
    with pytest.raises(ValueError, match="cancel"):
        product((SLACK, 1.0), (SLACK, -1.0))


def test_sums_open_nested_sums_and_refuse_weights_that_are_not_positive() -> None:
    inner = weighted_sum((SLACK, 2.0), (UP, 1.0))
    assert weighted_sum((inner, 0.5), (SLACK, 1.0)) == Operation("sum", (SLACK, UP), (2.0, 0.5))
    with pytest.raises(ValueError, match="positive"):
        weighted_sum((SLACK, 1.0), (UP, -1.0))


@pytest.mark.parametrize("tree", SAMPLES[:20])
def test_taking_a_tree_apart_and_together_changes_nothing(tree: Node) -> None:
    assert isinstance(tree, Operation)
    assert rebuilt(tree, tree.parts, tree.numbers) == tree
    assert with_numbers(tree, lambda value: value) == tree
    assert replaced(tree, Leaf(71), Leaf(70)) == tree or 71 in leaves(tree)


def test_a_replaced_part_is_gone() -> None:
    tree = product((SLACK, 1.0), (Operation("min", (UP, DOWN)), 1.5))
    assert leaves(replaced(tree, UP, ACTIVE)) == (18, 48, 21)
    assert tree in list(walk(tree))


def test_trees_that_differ_in_numbers_alone_have_one_skeleton() -> None:
    tree = product((SLACK, 1.0), (Operation("bonus", (Operation("log1p", (UP,), (2.0,)),), (0.3,)), -1.5))
    other = with_numbers(tree, lambda value: 1.7 * value)
    assert other != tree
    assert skeleton(other) == skeleton(tree)
    assert skeleton(product((SLACK, 1.0), (UP, 2.0))) != skeleton(product((SLACK, 1.0), (UP, -2.0)))


def test_settled_rules_lead_with_one() -> None:
    assert settled(product((SLACK, -1.0), (UP, 0.5), (DOWN, 1.0))) == Operation(
        "product", (SLACK, UP, DOWN), (-2.0, 1.0, 2.0)
    )
    assert settled(weighted_sum((SLACK, 4.0), (UP, 1.0))) == Operation("sum", (SLACK, UP), (1.0, 0.25))
    assert settled(product((SLACK, 2.0))) == SLACK
    assert settled(Operation("blend", (UP, DOWN), (0.2,))) == Operation("blend", (UP, DOWN), (0.2,))


def test_components_are_factors_terms_or_the_rule_itself() -> None:
    assert components(product((SLACK, 1.0), (UP, 2.0))) == ((SLACK, 1.0), (UP, 2.0))
    assert components(weighted_sum((SLACK, 1.0), (UP, 2.0))) == ((SLACK, 1.0), (UP, 2.0))
    assert components(Operation("min", (UP, DOWN))) == ((Operation("min", (UP, DOWN)), 1.0),)


def test_every_feature_has_a_role_and_gains_outrank_the_rest() -> None:
    assert {role_of_feature(feature.index) for feature in FEATURES[:N_FEATURES]} == {
        "gain", "fraction", "activity", "objective", "cutoff", "size", "share"
    }  # fmt: skip
    assert role(Operation("max", (ACTIVE, Leaf(feature_index("pseudocost_sum"))))) == "gain"
    assert role(Operation("bonus", (ACTIVE,), (1.0,))) == "activity"


@pytest.mark.parametrize(
    ("value", "expected"), [(0.123, 0.12), (1.0, 1.0), (1234.0, 1200.0), (-0.0456, -0.046)]
)
def test_numbers_keep_two_digits(value: float, expected: float) -> None:
    assert tidy(value) == expected
