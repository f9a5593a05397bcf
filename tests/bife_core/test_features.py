"""The table of features: the order every rule relies on."""

from __future__ import annotations

import keyword

import pytest

from bife_core.features import FEATURES, N_FEATURES, STATIC_GROUPS, Group, feature_index, groups_of

# Spelled out, not built: rules of others index by this order.
TABLE = """
obj_coef obj_coef_pos_part obj_coef_neg_part n_rows
rows_deg_mean rows_deg_stddev rows_deg_min rows_deg_max
rows_pos_coefs_count rows_pos_coefs_mean rows_pos_coefs_stddev rows_pos_coefs_min rows_pos_coefs_max
rows_neg_coefs_count rows_neg_coefs_mean rows_neg_coefs_stddev rows_neg_coefs_min rows_neg_coefs_max
slack ceil_dist
pseudocost_up pseudocost_down pseudocost_ratio pseudocost_sum pseudocost_product
n_cutoff_up n_cutoff_down n_cutoff_up_ratio n_cutoff_down_ratio
rows_dynamic_deg_mean rows_dynamic_deg_stddev rows_dynamic_deg_min rows_dynamic_deg_max
rows_dynamic_deg_mean_ratio rows_dynamic_deg_min_ratio rows_dynamic_deg_max_ratio
coef_pos_rhs_ratio_min coef_pos_rhs_ratio_max coef_neg_rhs_ratio_min coef_neg_rhs_ratio_max
pos_coef_pos_coef_ratio_min pos_coef_pos_coef_ratio_max pos_coef_neg_coef_ratio_min pos_coef_neg_coef_ratio_max
neg_coef_pos_coef_ratio_min neg_coef_pos_coef_ratio_max neg_coef_neg_coef_ratio_min neg_coef_neg_coef_ratio_max
active_coef_weight1_count active_coef_weight1_sum active_coef_weight1_mean
active_coef_weight1_stddev active_coef_weight1_min active_coef_weight1_max
active_coef_weight2_count active_coef_weight2_sum active_coef_weight2_mean
active_coef_weight2_stddev active_coef_weight2_min active_coef_weight2_max
active_coef_weight3_count active_coef_weight3_sum active_coef_weight3_mean
active_coef_weight3_stddev active_coef_weight3_min active_coef_weight3_max
active_coef_weight4_count active_coef_weight4_sum active_coef_weight4_mean
active_coef_weight4_stddev active_coef_weight4_min active_coef_weight4_max
"""
ORDER = TABLE.split()

GROUPS = {
    Group.OBJECTIVE: range(3),
    Group.STRUCTURE: range(3, 18),
    Group.FRACTIONALITY: range(18, 20),
    Group.PSEUDOCOST: range(20, 25),
    Group.CUTOFF: range(25, 29),
    Group.DEGREE: range(29, 36),
    Group.RHS_RATIO: range(36, 40),
    Group.ONE_TO_ALL: range(40, 48),
    Group.ACTIVE_UNIT: range(48, 54),
    Group.ACTIVE_ROW_SUM: range(54, 60),
    Group.ACTIVE_CANDIDATE_SUM: range(60, 66),
    Group.ACTIVE_DUAL: range(66, 72),
}


def test_the_order_is_the_published_one() -> None:
    assert len(ORDER) == N_FEATURES == len(FEATURES) == 72
    assert [feature.name for feature in FEATURES] == ORDER
    assert [feature.index for feature in FEATURES] == list(range(72))


def test_names_are_unique_and_usable_in_code() -> None:
    assert len(set(ORDER)) == 72
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in ORDER)


def test_every_feature_says_what_it_means_in_one_clause() -> None:
    meanings = [feature.meaning for feature in FEATURES]
    assert all(10 < len(meaning) < 200 and "\n" not in meaning for meaning in meanings)
    assert len(set(meanings)) == 72, "no two features mean the same"


@pytest.mark.parametrize("group", Group)
def test_groups(group: Group) -> None:
    assert [feature.index for feature in FEATURES if feature.group is group] == list(GROUPS[group])


def test_the_static_block_comes_first() -> None:
    assert [feature.index for feature in FEATURES if feature.static] == list(range(18))
    assert {Group.OBJECTIVE, Group.STRUCTURE} == STATIC_GROUPS


@pytest.mark.parametrize(("index", "name"), list(enumerate(ORDER)))
def test_an_index_is_found_by_name(index: int, name: str) -> None:
    assert feature_index(name) == index


@pytest.mark.parametrize("name", ["", "SLACK", "pseudocost", "24"])
def test_an_unknown_name_is_no_feature(name: str) -> None:
    with pytest.raises(KeyError):
        feature_index(name)


@pytest.mark.parametrize(
    ("indices", "groups"),
    [
        (None, set(Group)),
        (frozenset(range(72)), set(Group)),
        (frozenset(), set()),
        (frozenset({24}), {Group.PSEUDOCOST}),
        (
            frozenset({0, 17, 18, 71}),
            {Group.OBJECTIVE, Group.STRUCTURE, Group.FRACTIONALITY, Group.ACTIVE_DUAL},
        ),
    ],
)
def test_groups_of_indices(indices: frozenset[int] | None, groups: set[Group]) -> None:
    assert groups_of(indices) == groups


@pytest.mark.parametrize("index", [-73, 72])
def test_there_is_no_group_beyond_the_table(index: int) -> None:
    with pytest.raises(IndexError):
        groups_of(frozenset({index}))
