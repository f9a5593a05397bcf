"""Ranges of numbers: how they are written and drawn from."""

from random import Random

import pytest

from bife_core.base.errors import ConfigError
from bife_core.tuning.span import Span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1..1000 log", Span(1, 1000, integer=True, log=True)),
        ("-5..5", Span(-5, 5, integer=True, log=False)),
        ("0.0..1.0", Span(0, 1, integer=False, log=False)),
        ("0.000001..0.1 log", Span(1e-6, 0.1, integer=False, log=True)),
    ],
)
def test_a_range_is_read(text, span):
    assert Span.read(text) == span


@pytest.mark.parametrize(
    "text", ["5..1", "3..3", "0..9 log", "-1..9 log", "1..inf", "nan..1", "a..b", "1..2 lin", "7"]
)
def test_what_is_no_range_is_refused_in_one_sentence(text):
    with pytest.raises(
        ConfigError, match="is no range; write two finite numbers, the smaller first"
    ) as caught:
        Span.read(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1..1000 log", "3..30 log", "1..5", "0.0..1.0", "0.2..8.0 log"])
def test_numbers_are_drawn_from_all_of_a_range_and_have_two_digits(text):
    span, rng = Span.read(text), Random(5)
    numbers = [span.drawn(rng) for _ in range(1000)]
    assert numbers == list(map(span.checked, numbers))
    assert all(float(f"{float(number):.2g}") == float(number) for number in numbers)
    ends = sorted(map(float, numbers))
    assert ends[0] < span.low + 0.05 * (span.high - span.low) < 0.8 * span.high < ends[-1]


def test_steps_are_factors_with_log_and_differences_without():
    rng = Random(5)
    below = [
        sum(int(Span.read(f"1..10000{log}").drawn(rng)) <= 100 for _ in range(400)) for log in (" log", "")
    ]
    assert below == [pytest.approx(200, abs=40), pytest.approx(4, abs=6)]


def test_a_number_stays_or_moves_a_little_where_the_best_lies_in_the_range():
    span, rng = Span.read("1..1000 log"), Random(5)
    numbers = [int(span.drawn(rng, best="30")) for _ in range(400)]
    assert 250 < numbers.count(30) < 350
    assert 7 <= min(numbers) < 12
    assert 80 < max(numbers) <= 120
    elsewhere = {int(span.drawn(rng, best="3000")) for _ in range(400)}
    assert min(elsewhere) < 7 < 120 < max(elsewhere)
