from __future__ import annotations

import numpy as np

from bife_core.fidelity.failings import failings
from tests.support.recorded import decisions_of


def test_a_rule_is_told_at_which_depth_and_in_what_it_differs_from_strong_branching() -> None:
    # In every decision the second candidate is best, and has the larger first feature.
    decisions = decisions_of([2] * 4, [0.0, 1.0] * 4, feature=[1.0, 5.0] * 4, depth=[0, 1, 2, 3])
    right, wrong = decisions.offsets[:-1] + 1, decisions.offsets[:-1]
    assert failings(decisions, np.where([True, True, False, False], right, wrong)) == (
        "It chose as strong branching did in 100% of 1 decisions at the root, 50% of 2 decisions at depths 1 to 2, "
        "0% of 1 decisions below depth 2.",
        "In the 2 decisions where it chose otherwise, strong branching's candidate had the larger obj_coef in 100% "
        "(the smaller in 0%).",
    )


def test_a_rule_without_fault_or_choice_has_nothing_to_differ_in() -> None:
    decisions = decisions_of([2, 2], [0.0, 1.0, 0.0, 1.0], feature=[1.0, 5.0, 1.0, 5.0])
    (told,) = failings(decisions, decisions.offsets[:-1] + 1)
    assert "100% of 2 decisions at the root" in told
    (told,) = failings(decisions, np.array([-1, -1]))
    assert "0% of 2 decisions at the root" in told
