"""Parents are drawn by rank."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bife_core.search import Sample
from bife_core.search.drawing import draw_parents, selection_probabilities

RANKED = tuple(Sample(id=f"g00-c0{k}", generation=0, operator="i1", f_lf=1 - k / 10) for k in range(5))


def draw(count: int, rng: np.random.Generator, size: int = 5) -> list[int]:
    ranked = RANKED[:size]
    chosen = draw_parents(ranked, count, population=3, rng=rng)
    return [ranked.index(parent) for parent in chosen]


@pytest.mark.parametrize(("population", "weights"), [(1, [1, 1 / 2, 1 / 3]), (8, [1 / 8, 1 / 9, 1 / 10])])
def test_probabilities_are_proportional_to_one_over_rank_plus_n(
    population: int, weights: list[float]
) -> None:
    expected = np.array(weights) / sum(weights)
    np.testing.assert_allclose(selection_probabilities(3, population), expected, rtol=1e-15)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.integers(1, 50))
def test_probabilities_decrease_and_sum_to_one(size: int, population: int) -> None:
    p = selection_probabilities(size, population)
    assert p.shape == (size,)
    assert p.sum() == pytest.approx(1)
    assert (np.diff(p) < 0).all()


def test_parents_are_drawn_as_often_as_the_formula_says() -> None:
    rng = np.random.default_rng(1)
    drawn = Counter(draw(1, rng)[0] for _ in range(6000))
    expected = 6000 * selection_probabilities(5, 3)
    observed = [drawn[k] for k in range(5)]
    assert scipy.stats.chisquare(observed, expected).pvalue > 0.01
    wrong = 6000 * selection_probabilities(5, 1)
    assert scipy.stats.chisquare(observed, wrong).pvalue < 1e-6, "the sample tells another N apart"


def test_the_second_parent_is_drawn_from_those_left() -> None:
    rng = np.random.default_rng(2)
    pairs = Counter(tuple(draw(2, rng, size=3)) for _ in range(6000))
    p = selection_probabilities(3, 3)
    order = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = [6000 * p[i] * p[j] / (1 - p[i]) for i, j in order]
    assert set(pairs) == set(order)
    assert scipy.stats.chisquare([pairs[pair] for pair in order], expected).pvalue > 0.01


def test_all_are_drawn_once_before_any_is_drawn_again() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        drawn = draw(5, rng, size=2)
        assert set(drawn[:2]) == set(drawn[2:4]) == {0, 1}


def test_one_number_is_taken_per_parent() -> None:
    """So a run depends on the stream of the bit generator alone, not on NumPy's way of choosing."""
    one, other = np.random.default_rng(4), np.random.default_rng(4)
    draw(3, one)
    other.random(3)
    assert one.random() == other.random()


class Fixed(np.random.Generator):
    """Gives one uniform number, whichever its bit generator would."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, *_: object, **__: object) -> float:  # type: ignore[override]
        return self.value


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_ends_of_the_unit_interval_draw_the_first_and_the_last(count: int) -> None:
    assert draw(count, Fixed(0.0)) == list(range(count))
    assert draw(count, Fixed(float(np.nextafter(1, 0)))) == list(range(5))[::-1][:count]


def test_nobody_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no rule to draw a parent from"):
        draw(1, np.random.default_rng(0), size=0)
