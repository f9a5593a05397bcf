"""What F_LF may measure: decisions made by hand, worked out on paper."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bife_core.measure.choices import Yardstick, behaviour_of, chosen_rows
from bife_core.measure.low_measures import MEASURES
from tests.support.recorded import decisions_of

NAN, INF = np.nan, np.inf


@pytest.fixture
def three():
    """A tightenable root, below it a choice between branchings, and a pruned node below that."""
    gains = np.array([[2, 1, 1, 1, 2, 1, 3, 0], [2, 5, 1, 1, 2, 8, 3, 0]], dtype=float)
    return decisions_of([3, 3, 2], gains.prod(axis=0), gains=gains, room=[5.0, 9, 3], depth=[0, 1, 2])


def f_lf(decisions, scores, measure):
    given = np.array(scores, dtype=np.float64)
    return Yardstick(decisions, measure).f_lf(chosen_rows(given, decisions.offsets))


@pytest.mark.parametrize(
    ("scores", "measured"),
    [
        # The expert itself: scores 4 5 1, 1 4 8, 9 0.
        ([4, 5, 1, 1, 4, 8, 9, 0], (1, 1)),
        # Second best at the root, half as good a candidate below, and right where all was pruned.
        ([2, 1, 0, 0, 2, 1, 1, 0], (1 / 3, (0.8 + 0.5 / 2 + 1 / 4) / 1.75)),
        # The first of equals is chosen; equals everywhere are no order.
        ([7] * 8, (1 / 3, (0.8 + 1 / 16 + 1 / 4) / 1.75)),
        # What is no number never wins, and orders nothing.
        ([NAN] * 8, (0, 0)),
        ([-INF] * 8, (0, 0)),
        ([4, NAN, 1, 1, 4, NAN, NAN, 0], (0, (0.8 + 0.5 / 2) / 1.75)),
        ([0, INF, -INF, 0, 1, INF, INF, -INF], (1, 1)),
    ],
)
def test_the_measures_of_a_rule_on_three_decisions(three, scores, measured):
    found = [f_lf(three, scores, measure) for measure in ("accuracy", "depth_regret")]
    assert found == pytest.approx(measured)


@pytest.mark.parametrize("measure", list(MEASURES))
def test_any_choice_is_right_where_all_candidates_tie(measure):
    decisions = decisions_of([2, 3], [0, 0, 2, 2 + 1e-12, 2])
    assert f_lf(decisions, [0, 1, 0, 0, 1], measure) == 1


def test_rules_that_choose_alike_behave_alike(three):
    def behaviour(scores):
        return behaviour_of(chosen_rows(np.array(scores), three.offsets), three.offsets)

    one = behaviour([3.0, 2, 1, 1, 2, 3, 1, 0])
    assert one == behaviour([9.0, NAN, 1, 0, 0, 1, 5, 4])
    assert one != behaviour([3.0, 2, 1, 1, 2, 3, 0, 1])
    assert one != behaviour([3.0, 2, 1, 1, 2, 3, NAN, NAN])


@st.composite
def judged(draw):
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=6))
    rows, whole = sum(sizes), st.integers(0, 4)
    expert = draw(st.lists(whole, min_size=rows, max_size=rows))
    rule = draw(st.lists(whole.map(float) | st.sampled_from([NAN, INF, -INF]), min_size=rows, max_size=rows))
    depth = draw(st.lists(st.integers(0, 60), min_size=len(sizes), max_size=len(sizes)))
    return decisions_of(sizes, expert, depth=depth), rule


@given(judged())
@settings(max_examples=100, deadline=None)
def test_measures_keep_their_range_and_their_order(case):
    decisions, scores = case
    for measure in MEASURES:
        assert 0 <= f_lf(decisions, scores, measure) <= 1
        assert f_lf(decisions, decisions.scores.tolist(), measure) == 1, "the expert itself"
