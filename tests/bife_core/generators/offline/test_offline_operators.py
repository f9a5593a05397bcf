from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bife_core.features import N_FEATURES
from bife_core.generators.offline.expression import (
    Leaf,
    Node,
    Operation,
    components,
    join_of,
    leaves,
    product,
    role_of_feature,
    settled,
    skeleton,
    weighted_sum,
)
from bife_core.generators.offline.operators import distance, explore, initialise, recombine, tune, vary
from bife_core.generators.offline.priors import (
    PLAIN,
    near,
    pick,
    roles_of,
    rule_from_features,
    sample_rule,
)
from bife_core.generators.offline.writer import describe

SLACK, UP, DOWN, ACTIVE = Leaf(18), Leaf(20), Leaf(21), Leaf(48)
SEEDS = range(40)
SAMPLES = [sample_rule(np.random.default_rng(seed)) for seed in SEEDS]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_prior_has_no_favourites() -> None:
    drawn = [leaves(sample_rule(rng(seed))) for seed in range(4000)]
    by_feature = Counter(feature for found in drawn for feature in found)
    assert set(by_feature) == set(range(N_FEATURES))
    for name in roles_of(PLAIN):
        alike = [count for feature, count in by_feature.items() if role_of_feature(feature) == name]
        assert max(alike) < 1.5 * min(alike) + 20
    by_role = Counter(name for found in drawn for name in {role_of_feature(feature) for feature in found})
    assert max(by_role.values()) < 1.2 * min(by_role.values())


def test_tuning_changes_numbers_and_nothing_else() -> None:
    for seed, tree in zip(SEEDS, SAMPLES, strict=True):
        child = tune(rng(seed), tree).root
        assert child != tree
        assert skeleton(child) == skeleton(tree) or len(components(tree)) == 1


def test_tuning_a_rule_without_numbers_varies_it() -> None:
    assert tune(rng(0), Operation("min", (UP, DOWN))).root != Operation("min", (UP, DOWN))


def test_varying_changes_the_form() -> None:
    for seed, tree in zip(SEEDS, SAMPLES, strict=True):
        proposal = vary(rng(seed), tree)
        assert skeleton(proposal.root) != skeleton(tree)
        assert describe(proposal.root) in proposal.thought


@pytest.mark.parametrize(
    "tree",
    [SLACK, Operation("min", (UP, DOWN)), Operation("bonus", (ACTIVE,), (1.0,)), product((SLACK, -1.0))],
)
def test_the_smallest_rules_can_be_varied_and_crossed(tree: Node) -> None:
    for seed in SEEDS:
        assert vary(rng(seed), tree).root != tree
        assert recombine(rng(seed), (tree, tree)).root != tree


def test_crossing_keeps_what_the_parents_share() -> None:
    gain = Operation("harmonic", (UP, DOWN))
    one = product((SLACK, 1.0), (gain, 1.0), (ACTIVE, 2.0))
    other = product((SLACK, 1.0), (gain, 4.0), (Leaf(0), 0.5))
    for seed in SEEDS:
        child = recombine(rng(seed), (one, other)).root
        found = dict(components(child))
        assert {SLACK, gain} <= set(found) <= {SLACK, gain, ACTIVE, Leaf(0)}
        assert 0.7 < found[gain] < 6.0
        assert child not in (one, other)


def test_crossing_does_not_tear_the_parts_of_a_role_apart() -> None:
    damped = product(
        (Operation("geometric", (UP, DOWN)), 1.0), (Operation("bonus", (Leaf(23),), (1.0,)), -1.0)
    )
    parents = (product((damped, 1.0), (SLACK, 1.0)), weighted_sum((SLACK, 1.0), (ACTIVE, 1.0)))
    for seed in SEEDS:
        read_by_gains = {20, 21, 23} & set(leaves(recombine(rng(seed), parents).root))
        assert read_by_gains in ({20, 21, 23}, set())


def test_crossing_a_sum_with_a_product_gives_one_or_the_other() -> None:
    one = weighted_sum((SLACK, 1.0), (Leaf(24), 2.0))
    other = product((SLACK, 1.0), (ACTIVE, 2.0))
    kinds = {join_of(recombine(rng(seed), (one, other)).root) for seed in SEEDS}
    assert kinds == {"sum", "product"}


def test_exploring_moves_away_from_the_parents() -> None:
    parents = (SAMPLES[0], SAMPLES[1])
    explored = np.mean([min(distance(explore(rng(s), parents).root, p) for p in parents) for s in SEEDS])
    drawn = np.mean([min(distance(initialise(rng(s)).root, p) for p in parents) for s in SEEDS])
    assert explored > drawn


def test_distance_is_zero_for_equals_and_two_for_strangers() -> None:
    assert distance(SAMPLES[0], SAMPLES[0]) == 0.0
    assert distance(Operation("min", (UP, DOWN)), Operation("bonus", (ACTIVE,), (1.0,))) < 2.0
    assert distance(product((SLACK, 1.0), (ACTIVE, 1.0)), Operation("min", (UP, DOWN))) <= 2.0


def test_rules_are_settled() -> None:
    for seed, tree in zip(SEEDS, SAMPLES, strict=True):
        for child in (tree, tune(rng(seed), tree).root, vary(rng(seed), tree).root):
            assert settled(child) == child


def test_a_rule_can_be_built_from_the_features_of_another() -> None:
    for seed in SEEDS:
        tree = rule_from_features(rng(seed), (18, 20, 21, 48, 66, 0))
        assert tree is not None
        assert set(leaves(tree)) <= {18, 20, 21, 23, 24, 48, 66, 0}
    assert rule_from_features(rng(0), ()) is None


def test_draws_are_even_and_stay_near() -> None:
    drawn = Counter(pick(rng(seed), ("one", "other")) for seed in range(200))
    assert 70 < drawn["one"] < 130
    assert all(0.2 < near(rng(seed), 1.0) < 5.0 for seed in range(200))
