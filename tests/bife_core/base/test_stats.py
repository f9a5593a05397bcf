"""Statistics against values worked by hand, and their edges."""

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings, strategies as st

from bife_core.base.stats import (
    CAP,
    UpperBound,
    geometric_mean,
    geometric_std,
    holm,
    ratio_interval,
    share_bound,
    signed_rank_test,
    win_tie_loss,
)

POSITIVE = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(
    ("values", "mean", "spread"),
    [
        ([4.0], 4.0, 1.0),
        (4.0, 4.0, 1.0),
        ([1, 4], 2.0, math.exp(math.log(4) / math.sqrt(2))),
        ([1, 10, 100], 10.0, 10.0),
        ([7, 7, 7], 7.0, 1.0),
        ([[1, 4], [4, 1]], 2.0, math.exp(math.log(2) * math.sqrt(4 / 3))),
        ([1e-200, 1e200], 1.0, math.exp(math.log(1e200) * math.sqrt(2))),
    ],
)
def test_geometric_mean_and_spread(values, mean, spread):
    assert geometric_mean(values) == pytest.approx(mean)
    assert geometric_std(values) == pytest.approx(spread)


@pytest.mark.parametrize("function", [geometric_mean, geometric_std])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_geometric_statistics_need_positive_finite_values(function, bad):
    with pytest.raises(ValueError, match=r"positive, finite values, found .*without nodes"):
        function([1.0, bad])
    with pytest.raises(ValueError, match="needs at least one value"):
        function([])


def logs(a, b=1.0):
    return np.log(a) - np.log(b)


def test_a_ratio_worked_by_hand():
    result = ratio_interval(logs([1.0, 2.0, 4.0, 1.0], [2.0, 2.0, 2.0, 8.0]))
    assert result.ratio == pytest.approx((1 / 2 * 1 * 2 * 1 / 8) ** 0.25)
    assert result.low < 1 / 8 < result.ratio < 2 < result.high, "four instances say little"
    assert result.note == ""


def test_the_interval_is_scipys_on_log_ratios():
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(size=(2, 15))
    result = ratio_interval(logs(a, b), confidence=0.9)
    how = {"n_resamples": 9999, "confidence_level": 0.9, "method": "BCa", "rng": np.random.default_rng(0)}
    theirs = scipy.stats.bootstrap((logs(a, b),), np.mean, **how).confidence_interval
    assert (result.low, result.high) == pytest.approx((math.exp(theirs.low), math.exp(theirs.high)), rel=1e-6)
    # For 15 instances the interval of Student's t is close, and none of its code is shared.
    t = scipy.stats.t.interval(0.9, 14, loc=logs(a, b).mean(), scale=logs(a, b).std(ddof=1) / math.sqrt(15))
    assert np.log([result.low, result.high]) == pytest.approx(t, abs=0.15)


def test_one_instance_gives_a_ratio_and_no_interval_and_one_ratio_on_all_a_point():
    alone = ratio_interval(logs([0.5]))
    assert (alone.ratio, alone.low, alone.high) == (pytest.approx(0.5), None, None)
    assert "one instance" in alone.note
    b = np.array([3.0, 0.1, 70.0])
    for factor in (1.0, 0.9, 1.1):
        point = ratio_interval(logs(factor * b, b))
        assert point.low == point.high == point.ratio == pytest.approx(factor)
        assert "same on every instance" in point.note


@pytest.mark.parametrize("ratios", [[1.0, 1.0, 1.0, 0.9, 1.0, 1.0], [1.0, 1.0, 5.0, 1.0, 1.0, 1.0]])
def test_nearly_equal_instances_still_give_a_finite_interval(ratios):
    result = ratio_interval(logs(ratios))
    assert min(ratios) * (1 - 1e-9) <= result.low <= result.high <= max(ratios) * (1 + 1e-9)


@pytest.mark.parametrize("ratios", [[0.5, 0.8], [1.0, 1.0, 1.0, 0.9], [1.0, 1.0, 5.0], [1.0, 1e200, 1e-200]])
def test_few_instances_give_a_finite_interval_around_their_ratio(ratios):
    result = ratio_interval(logs(ratios))
    assert 0.0 < result.low < result.ratio < result.high < math.inf


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_an_interval_of_few_instances_covers_what_it_states(count):
    generator = np.random.default_rng(count)
    drawn = (ratio_interval(generator.normal(scale=0.3, size=count)) for _ in range(200))
    covered = sum(result.low <= 1.0 <= result.high for result in drawn)
    assert covered >= (180 if count < 6 else 160), "a bootstrap interval of two covers half"


def test_the_signed_rank_test_on_an_example_worked_by_hand():
    """Ranks 1 to 5 with signs -, +, -, -, -: W+ = 2, reached or undercut by 3 of 32 signings, twice as two-sided."""
    result = signed_rank_test(logs([1 / 1.1, 1.2, 1 / 1.3, 1 / 1.4, 1 / 1.5]))
    assert result == pytest.approx(6 / 32)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=12))
def test_the_signed_rank_test_is_scipys_exact_one_and_symmetric(pairs):
    a, b = np.array(pairs).T
    result, turned = signed_rank_test(logs(a, b)), signed_rank_test(logs(b, a))
    assert result == turned
    assert 0 <= result <= 1
    if len({round(abs(log), 12) for log in [0.0, *logs(a, b)]}) > len(pairs):
        assert result == pytest.approx(scipy.stats.wilcoxon(logs(a, b), method="exact").pvalue, rel=1e-12)


def enumerated(differences):
    """The two-sided p-value by its definition: the share of all signings at least as far from the middle."""
    ranks = scipy.stats.rankdata(np.abs(differences))
    signings = np.array(list(itertools.product((0.0, 1.0), repeat=len(ranks))))
    sums = signings @ ranks
    observed = ranks[np.asarray(differences) > 0].sum()
    tail = min(np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9))
    return float(min(1.0, 2 * tail))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=10))
def test_with_ties_the_p_value_is_that_of_all_signings_of_the_ranks_at_hand(steps):
    result = signed_rank_test(logs(2.0 ** np.array(steps)))
    assert result == pytest.approx(enumerated(steps), rel=1e-12)


def test_many_instances_neither_overflow_nor_take_long():
    many = 1100  # whose sign patterns are more than the largest floating-point number
    ratios = np.exp(np.random.default_rng(5).normal(0.03, 1.0, size=many))
    result = signed_rank_test(logs(ratios))
    normal = scipy.stats.wilcoxon(np.log(ratios), method="asymptotic").pvalue
    assert result == pytest.approx(normal, rel=0.05)


def test_equal_pairs_say_nothing_about_a_direction():
    assert signed_rank_test([0.0, 0.0]) == 1.0
    with_equal = signed_rank_test(logs([1.0, 2.0, 4.0, 9.0], [2.0, 5.0, 4.0, 9.0]))
    assert with_equal == signed_rank_test(logs([1.0, 2.0], [2.0, 5.0]))
    assert with_equal == 0.5


def test_equal_factors_are_ties_despite_their_last_bits():
    """One of three equal ranks is positive: p is 1, and 0.5 where the last bits made that rank the smallest."""
    b = np.array([3.0, 0.1, 7.0])
    assert np.unique(np.log(1.3 * b) - np.log(b)).size > 1
    for up in np.eye(3, dtype=bool):
        assert signed_rank_test(logs(np.where(up, 1.3 * b, b), np.where(up, b, 1.3 * b))) == 1.0


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], ()),
        ([0.2], (0.2,)),
        ([0.01, 0.04, 0.03], (0.03, 0.06, 0.06)),
        ([0.04, 0.01, 0.02, 0.03], (0.06, 0.04, 0.06, 0.06)),
        ([0.5, 0.6, 0.001], (1.0, 1.0, 0.003)),
        ([0.0, 1.0], (0.0, 1.0)),
        ([0.02, 0.02], (0.04, 0.04)),
        ([0.01, 0.02, 0.03, 0.04, 0.05], (0.05, 0.08, 0.09, 0.09, 0.09)),  # R: p.adjust(p, "holm")
    ],
)
def test_holm_worked_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)


def test_wins_ties_and_losses():
    a = [1.0, 1.995, 3.0, 4.02, 5.0]
    b = [1.5, 2.0, 3.0, 4.0, 2.6]
    assert win_tie_loss(logs(a, b)) == win_tie_loss(logs(b, a)) == (2, 1, 2)


def test_the_bound_falls_as_instances_are_added_and_below_one_at_once_when_nothing_is_missing():
    bounds = [UpperBound.of([math.log(0.6)] * n) for n in range(1, 40)]
    values = [bound.value for bound in bounds]
    assert values == sorted(values, reverse=True)
    assert [bound.missing(0.0) == 0.0 for bound in bounds] == [value < 0 for value in values]
    needed = next(n for n, value in enumerate(values, start=1) if value < 0)
    assert bounds[4].further(math.log(0.6)) == pytest.approx(needed - 5, abs=1)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=30), st.floats(0.8, 0.99))
@settings(max_examples=50, deadline=None)
def test_a_bound_lies_between_the_smallest_ratio_and_the_cap(logs, confidence):
    bound = UpperBound.of(logs, confidence)
    assert min(min(logs), math.log(CAP) - 1e-8) <= bound.value <= math.log(CAP)
    assert UpperBound.of(logs, 0.999).value >= bound.value - 1e-5


def test_one_disaster_is_not_outweighed_by_a_few_good_instances():
    good = [math.log(0.7)] * 30
    assert UpperBound.of(good).value < 0 < UpperBound.of([math.log(20.0), *good]).value
    assert UpperBound.of([math.log(20.0)]).logs == UpperBound.of([math.log(5.0)]).logs == (math.log(CAP),)


def test_no_number_of_instances_helps_a_rule_that_is_not_better():
    assert UpperBound.of([0.1, -0.1]).further(0.0) == math.inf
    assert UpperBound.of([math.log(0.3)] * 30).further(0.0) == 0.0


@pytest.mark.parametrize(("count", "of"), [(0, 5), (2, 20), (7, 60)])
def test_the_limit_of_a_share_is_the_exact_one(count, of):
    assert scipy.stats.binom.cdf(count, of, share_bound(count, of)) == pytest.approx(0.05)
