import numpy as np

from bife_core.measure.choices import Yardstick
from bife_core.measure.failings import contributions, failings
from bife_core.solver.methods.scorer import RuleMethod
from tests.support.recorded import decisions_of

AMONG = (
    "Among the candidates of a node, from 0 for the smallest to 1 for the largest, strong branching's choice and the "
    "rule's stand on average "
)


def test_a_rule_is_told_at_which_depth_and_in_what_it_differs_from_strong_branching():
    # In every decision the second candidate is best, and has the larger first feature.
    decisions = decisions_of([2] * 4, [0.0, 1.0] * 4, feature=[1.0, 5.0] * 4, depth=[0, 1, 2, 3])
    right, wrong = decisions.offsets[:-1] + 1, decisions.offsets[:-1]
    text = failings(decisions, np.where([True, False, False, False], right, wrong))
    assert text == (
        "It chose as strong branching did in 1 of 1 decisions at the root, 0 of 2 decisions at depths 1 to 2, "
        "0 of 1 decisions below depth 2.",
        f"{AMONG}at 1.00 and 0.25 by obj_coef.",
    )


def test_what_a_rule_rewards_is_not_told_where_its_choice_has_only_more_of_it():
    # Strong branching takes the second largest of five; what takes the largest is wrong, but not in its direction, and
    # of whatever a rule rewards its choice has most.
    decisions = decisions_of([5] * 9, [0.0, 0.0, 0.0, 1.0, 0.0] * 9, feature=[1.0, 2.0, 3.0, 4.0, 5.0] * 9)
    assert len(failings(decisions, decisions.offsets[1:] - 1)) == 1
    assert failings(decisions, decisions.offsets[1:] - 3)[1] == f"{AMONG}at 0.75 and 0.50 by obj_coef."


def test_features_that_tell_the_same_are_told_once_and_what_chance_explains_is_not():
    columns = np.zeros((72, 16))
    columns[3] = columns[8] = [1.0, 5.0] * 8
    columns[19] = [1.0, 2.0] * 5 + [2.0, 1.0] * 3
    decisions = decisions_of([2] * 8, [0.0, 1.0] * 8, columns=columns)
    assert failings(decisions, decisions.offsets[:-1])[1] == f"{AMONG}at 1.00 and 0.00 by n_rows."
    names = ["" if index == 3 else f"[{index}]" for index in range(72)]
    assert failings(decisions, decisions.offsets[:-1], names)[1] == f"{AMONG}at 1.00 and 0.00 by [8]."


def test_a_rule_without_fault_or_choice_has_nothing_to_differ_in():
    decisions = decisions_of([2, 2], [0.0, 1.0, 0.0, 1.0], feature=[1.0, 5.0, 1.0, 5.0])
    (text,) = failings(decisions, decisions.offsets[:-1] + 1)
    assert "2 of 2 decisions at the root" in text
    (text,) = failings(decisions, np.array([-1, -1]))
    assert "0 of 2 decisions at the root" in text


def test_f_lf_without_each_feature_of_a_rule_is_reported():
    # Feature 0 alone says which candidate is best; feature 18 is the same for all.
    decisions = decisions_of([2] * 4, [0.0, 1.0] * 4, feature=[1.0, 5.0] * 4)

    def reported(score):
        source = f"def candidate_variable_score(x):\n    return {score}\n"
        rule = RuleMethod(name="rule", source=source)
        return contributions(rule, decisions, Yardstick(decisions))

    assert reported("x[0] + x[18]") == (
        "F_LF with one of its features held at its median: [18] 1.000, [0] 0.000.",
    )
    assert reported("1.0") == ()
