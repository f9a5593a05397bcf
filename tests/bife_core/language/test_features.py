"""The table of features: the order every rule relies on."""

import re
from collections import Counter

import numpy as np
import pytest

from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES, Group, columns, rows
from tests.support.documents import DOCS

DOCUMENT = DOCS / "reference" / "features.md"

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


def test_the_order_is_the_published_one():
    names = [feature.name for feature in FEATURES]
    assert names == ORDER, "indices are public: the table changes at its end only, and ORDER here with it"
    assert [feature.index for feature in FEATURES] == list(range(BRANCHING.n_features))


def test_formulas_are_plain_functions_that_follow_the_definitions():
    rng = np.random.default_rng(0)
    lengths, coefficients = rng.integers(1, 9, 20).astype(float), rng.normal(size=20)
    positive, negative = coefficients[coefficients > 0], coefficients[coefficients < 0]
    spreads = []
    for sizes in (lengths, positive, -negative, []):
        values = rows.NO_VALUES
        for size in sizes:
            values = rows.add_value(values, size)
        spreads.append(rows.spread(values))
    expected = [(part.mean(), part.std(), part.min(), part.max()) for part in (lengths, positive, -negative)]
    np.testing.assert_allclose(spreads, [*expected, (0.0, 0.0, 0.0, 0.0)])
    taken = columns.structure(20, spreads[0], len(positive), spreads[1], len(negative), spreads[2])
    signed = (negative.mean(), negative.std(), negative.min(), negative.max())
    np.testing.assert_allclose(taken, [20, *expected[0], len(positive), *expected[1], len(negative), *signed])
    assert [str(value) for value in columns.structure(0, *[spreads[3], 0] * 2, spreads[3])[-4:]] == [
        "0.0"
    ] * 4
    assert columns.fractionality(0.75) == (0.25, 0.25)
    assert columns.pseudocost(0.75, 4.0, 2.0) == (1.0, 1.5, 1.0 / 1.5, 2.5, 1.5)
    assert columns.cutoff(2.0, 3.0, 0, 6) == (2.0, 3.0, 0.0, 0.5)
    assert rows.add_side(rows.NO_RATIOS, -1.0, 3.0) == (-0.25, -0.25, 1.0, -1.0)
    assert rows.add_share(rows.NO_SHARES, 1.0, 4.0, -3.0)[:4] == (0.25, 0.25, 0.25, 0.25)


def test_an_input_of_a_formula_that_is_no_call_is_refused():
    with pytest.raises(ValueError, match=r"such as 'int SCIPf\(column\)', not 'SCIPgetDepth'"):
        list(Group("tree", cost="candidate", role="tree", inputs=("fraction", "SCIPgetDepth")).calls)


def test_the_document_has_a_row_for_every_feature():
    rows_of = Counter()
    for indices, names in re.findall(
        r"^\| ([\d, –]+) \| (.*?) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE
    ):
        for part in indices.split(", "):
            first, _, last = part.partition("–")
            rows_of.update(range(int(first), int(last or first) + 1))
        name = FEATURES[int(re.split("[,–]", indices)[0])].name
        assert "…" in names.split("`")[1] or names.startswith(f"`{name}"), (
            f"row {indices} should begin with {name}"
        )
    for feature in FEATURES:
        assert rows_of.pop(feature.index, 0) == 1, (
            f"docs/reference/features.md needs exactly one table row for feature {feature.index}, `{feature.name}`: "
            "say there how its value is made of SCIP's."
        )
    assert not rows_of, "docs/reference/features.md describes features that do not exist"
