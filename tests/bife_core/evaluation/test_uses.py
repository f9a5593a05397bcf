"""The error allowed is spent over the uses of one test set."""

from __future__ import annotations

import numpy as np
import pytest

from bench.gate import null_comparison, promoted
from bife_core.stats import alpha_share, confidence_of, fewest_instances, signed_rank_test


def test_all_uses_together_spend_no_more_than_alpha() -> None:
    shares = [alpha_share(use) for use in range(1, 5000)]
    assert shares == sorted(shares, reverse=True)
    assert 0.999 < sum(shares) < 1.0


@pytest.mark.parametrize("use", [1, 2, 3, 7])
def test_the_fewest_instances_are_those_with_which_the_test_can_reach_the_level(use: int) -> None:
    alpha = 1 - confidence_of(use, 0.95)
    fewest = fewest_instances(1 - alpha)
    assert signed_rank_test([1.0] * fewest, [2.0 + k for k in range(fewest)]) < alpha
    assert signed_rank_test([1.0] * (fewest - 1), [2.0 + k for k in range(fewest - 1)]) >= alpha


def test_a_rule_that_is_no_better_is_hardly_ever_promoted() -> None:
    """Few experiments here, of which the interval alone would promote two; `python -m bench.gate` makes thousands."""
    rng = np.random.default_rng(1)
    assert sum(promoted(null_comparison(8, rng)) for _ in range(40)) <= 1
