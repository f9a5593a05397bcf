"""Elites, threshold, admission, survival and the draw of parents, without a search around them."""

from collections import Counter

import numpy as np
import pytest
import scipy

from bife_core.run.config import SearchConfig
from bife_core.search import Sample
from bife_core.search.population import (
    by_high_fidelity,
    by_low_fidelity,
    draw_parents,
    founders,
    likeness,
    niche_by_niche,
    reaches,
    selection_probabilities,
    survivors,
    threshold,
)
from tests.support.searching import ids


def rule(name, f_lf=None, f_hf=None, **fields):
    return Sample(id=name, generation=int(name[1:3]), operator="m1", f_lf=f_lf, f_hf=f_hf, **fields)


def test_orders_leave_out_the_invalid_and_break_ties_by_age():
    rules = [
        rule("g02-c00", 0.5, -1.0),
        rule("g00-c100", 0.5, -1.0),
        rule("g00-c99", 0.5, -1.0),
        rule("g00-c01", 0.9),
        rule("g00-c02", 0.8, -9.0, failure="killed"),
        rule("g00-c03"),
        rule("g01-c00", 0.1, 3.0),
    ]
    ties = ["g00-c99", "g00-c100", "g02-c00"]
    assert ids(by_low_fidelity(rules)) == ["g00-c01", *ties, "g01-c00"]
    assert ids(by_high_fidelity(rules)) == ["g01-c00", *ties]
    assert by_high_fidelity([]) == by_low_fidelity([]) == ()


def test_the_best_of_each_niche_comes_before_the_second_of_any():
    niches = (0, 0, None, 1, 0, None, 1, 2)
    ranked = [rule(f"g00-c0{place}", niche=niche) for place, niche in enumerate(niches)]
    assert [one.id[-1] for one in niche_by_niche(ranked)] == ["0", "2", "3", "7", "1", "5", "6", "4"]
    assert niche_by_niche([]) == ()


PAPER = SearchConfig(threshold_share=None)


def test_founders_are_the_ceiling_of_alpha_n():
    def count(alpha, n):
        return founders(SearchConfig(elite_fraction=alpha, population=n))

    assert (count(0.28, 25), count(0.01, 8)) == (7, 1), "0.28 * 25 is 7.000000000000001 in floating point"


def test_the_papers_tau_is_the_low_fidelity_of_the_elite_of_worst_high_fidelity():
    newcomers = [rule("g00-c00", 0.9, -5.0), rule("g00-c01", 0.2, -1.0), rule("g00-c02", 0.95)]
    elites, others = survivors((), newcomers, SearchConfig(population=3))
    assert (ids(elites), ids(others)) == (["g00-c01", "g00-c00"], ["g00-c02"])
    assert threshold(elites, newcomers, PAPER) == 0.9


@pytest.mark.parametrize(
    ("share", "tau"), [(None, 0.9), (0.01, 0.9), (0.2, 0.9), (0.21, 0.8), (0.6, 0.7), (0.8, 0.6), (1.0, 0.2)]
)
def test_tau_is_no_higher_than_what_a_share_of_all_valid_samples_reaches(share, tau):
    """Five are valid: a fifth of them is one, anything more is two."""
    elite = rule("g00-c00", 0.9, -5.0)
    others = [rule(f"g01-c0{k}", f_lf) for k, f_lf in enumerate((0.2, 0.6, 0.8, 0.7))]
    out = [rule("g02-c00", 0.95, failure="the solver was killed"), rule("g02-c01")]
    samples = [elite, *others, *out]
    config = SearchConfig(threshold_share=share)
    assert threshold((elite,), samples, config) == tau
    if share is not None:
        assert sum(reaches(sample, tau) for sample in samples) >= share * 5


def test_nothing_is_admitted_without_a_score_or_without_tau():
    assert not reaches(rule("g01-c00"), 0.5)
    assert not reaches(rule("g01-c00", 0.9, failure="duplicate of g00-c00"), 0.5)
    assert not reaches(rule("g01-c00", 0.9), None)
    assert [reaches(rule("g01-c00", f_lf), 0.5) for f_lf in (0.49, 0.5)] == [False, True]
    assert threshold((), (rule("g00-c00", 0.4),), SearchConfig()) is None


@pytest.mark.parametrize(
    ("newcomers", "config", "elites", "others"),
    [
        (
            [*(rule(f"g01-c0{k}", 0.5, -float(k)) for k in range(4)), rule("g01-c04", 0.9)],
            SearchConfig(population=2),
            ["g01-c00", "g01-c01", "g01-c02", "g00-c00", "g01-c03"],
            [],
        ),
        (
            [rule("g01-c00", 0.7, -1.0), rule("g01-c01", 0.8, -2.0), rule("g01-c02", 0.1)],
            SearchConfig(population=3, elite_cap=1),
            ["g01-c00"],
            ["g01-c01", "g01-c02"],
        ),
        (
            [rule("g01-c00", failure="no code"), rule("g01-c01", 0.9, failure="died")],
            SearchConfig(),
            ["g00-c00"],
            [],
        ),
    ],
    ids=["elites may outnumber N", "beyond the cap an elite competes by F_LF", "failures never live"],
)
def test_survivors(newcomers, config, elites, others):
    found = survivors((rule("g00-c00", 0.6, -2.5),), newcomers, config)
    assert tuple(map(ids, found)) == (elites, others)


RANKED = tuple(Sample(id=f"g00-c0{k}", generation=0, operator="i1", f_lf=1 - k / 10) for k in range(5))


def draw(count, rng, size=5):
    ranked = RANKED[:size]
    chosen = draw_parents(ranked, count, population=3, rng=rng)
    return [ranked.index(parent) for parent in chosen]


def test_parents_are_drawn_as_often_as_the_formula_says():
    rng = np.random.default_rng(1)
    drawn = Counter(draw(1, rng)[0] for _ in range(6000))
    expected = 6000 * selection_probabilities(5, 3)
    observed = [drawn[k] for k in range(5)]
    assert scipy.stats.chisquare(observed, expected).pvalue > 0.01
    wrong = 6000 * selection_probabilities(5, 1)
    assert scipy.stats.chisquare(observed, wrong).pvalue < 1e-6, "the sample tells another N apart"


def test_the_second_parent_is_drawn_from_those_left():
    rng = np.random.default_rng(2)
    pairs = Counter(tuple(draw(2, rng, size=3)) for _ in range(6000))
    p = selection_probabilities(3, 3)
    order = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = [6000 * p[i] * p[j] / (1 - p[i]) for i, j in order]
    assert set(pairs) == set(order)
    assert scipy.stats.chisquare([pairs[pair] for pair in order], expected).pvalue > 0.01


def test_the_second_parent_is_of_those_that_choose_least_like_the_first():
    chosen = ("aaaa", "aaab", "abab", "bbbb", None)
    rules = [rule(f"g00-c0{place}", behaviour=one) for place, one in enumerate(chosen)]
    assert likeness(rules[0], rules[1]) == 0.75
    assert likeness(rules[0], rules[4]) is None
    rng = np.random.default_rng(4)

    def pairs(ranked, unlike=0.5):
        drawn = (draw_parents(ranked, 2, population=3, rng=rng, unlike=unlike) for _ in range(400))
        return {tuple(parent.id[-1] for parent in pair) for pair in drawn}

    found = pairs(rules[:4])
    assert {second for first, second in found if first == "0"} == {"2", "3"}
    assert {second for first, second in found if first == "3"} == {"0", "1"}
    assert len(pairs(rules[:4], 1.0)) == 12
    assert pairs(rules[:2]) == {("0", "1"), ("1", "0")}, "there is but one other"
    assert ("0", "4") in pairs(rules), "a rule of unknown choices is like none"


def test_all_are_drawn_once_before_any_is_drawn_again():
    rng = np.random.default_rng(3)
    for _ in range(50):
        drawn = draw(5, rng, size=2)
        assert set(drawn[:2]) == set(drawn[2:4]) == {0, 1}
