from bife_core.measure.race import RULES
from bife_core.search import Sample
from bife_core.search.generators.base import FeatureRange, PromptContext
from bife_core.search.generators.prompting import earlier_attempts, measured_features, scores

ABOUT = PromptContext(benchmark="toys")


def sample(number, **known):
    text = {"id": f"g00-c{number:02d}", "generation": 0, "operator": "i1", "thought": f"Thought {number}."}
    return Sample.model_validate(text | known)


def test_a_constant_feature_is_named_and_left_out_of_the_list():
    obj = FeatureRange(index=0, quantiles=(-2.0, -1.0, 0.0, 0.123456, 7.0))
    slack = FeatureRange(index=18, quantiles=(0.5,) * 5)
    text = measured_features(ABOUT.model_copy(update={"features": (obj, slack)}))
    assert "- [0] obj_coef: " in text
    assert "## objective (computed once per solve: free)" in text
    assert "[-2 | -1 | 0 | 0.123 | 7]" in text
    assert "- [18]" not in text
    assert "fractionality" not in text
    assert text.endswith("the same value: [18] slack = 0.5.")


def test_a_feature_has_what_it_tells_alone_and_one_that_repeats_another_is_named():
    obj = FeatureRange(index=0, quantiles=(-4.0, -3.0, -2.0, -1.0, 0.0), alone=0.211, smallest=True)
    rows = FeatureRange(index=3, quantiles=(1.0, 2.0, 3.0, 4.0, 5.0), alone=0.1, smallest=True)
    repeats = FeatureRange(index=67, quantiles=(0.0, 1.0, 2.0, 3.0, 4.0), alone=0.211, repeats=0)
    text = measured_features(ABOUT.model_copy(update={"features": (obj, rows, repeats)}))
    assert "[-4 | -3 | -2 | -1 | 0], alone 0.21, farthest from 0 first\n" in text
    assert "[1 | 2 | 3 | 4 | 5], alone 0.10, smallest first\n" in text
    assert "- [67]" not in text
    assert text.endswith("up to the sign: [67] active_coef_weight4_sum = [0] obj_coef.")


def test_what_adds_to_the_best_feature_is_named_the_most_first():
    quantiles = (0.0, 1.0, 2.0, 3.0, 4.0)
    best = FeatureRange(index=67, quantiles=quantiles, alone=0.49)
    others = [
        FeatureRange(index=index, quantiles=quantiles, alone=0.3, times_best=0.5 + index / 100, power=-0.5)
        for index in range(12)
    ]
    text = measured_features(ABOUT.model_copy(update={"features": (*others, best)}))
    head = "adds most to the best, [67] active_coef_weight4_sum (0.49): F_LF of its product with "
    named = text.split(head)[1]
    assert named.startswith("[11]^-0.5 0.61, [10]^-0.5 0.60, ")
    assert named.count("^") == 10


def test_of_a_rule_whose_numbers_were_fitted_the_description_says_so():
    tried = (sample(1), sample(2), sample(3, thought=None))
    context = ABOUT.model_copy(update={"earlier": tried, "fitted": (tried[1].id, tried[2].id)})
    assert earlier_attempts(context, shown=()).split("\n") == [
        "- Thought 1: not scored",
        "- Thought 2 (its numbers were fitted since): not scored",
        "- a rule without a description: not scored",
    ]


def test_a_parent_has_its_scores_and_where_it_fails():
    parent = sample(1, f_lf=0.25, f_hf=-6.0)
    context = ABOUT.model_copy(update={"rpb": -8.0, "failings": {parent.id: ("Bad at the root.",)}})
    said = "F_LF 0.250, F_HF -6 (0.75 times the cost of SCIP's own rule). Bad at the root."
    assert scores(parent, context) == said
    assert scores(sample(2), context) == "not scored."
    context = context.model_copy(update={"regrets": {parent.id: 0.1234}, "earlier": (sample(3, f_hf=-7.0),)})
    assert "It is the best rule so far. Bad" in scores(parent, context)
    assert scores(parent, context).startswith("F_LF 0.250, regret 0.123, F_HF -6 ")


def test_an_earlier_attempt_is_a_line_that_says_what_and_how():
    tried = (sample(1, f_lf=0.25), sample(2, failure="duplicate of g00-c01"), sample(3))
    text = earlier_attempts(ABOUT.model_copy(update={"earlier": tried}), shown=tried[2:])
    assert text.split("\n") == ["- Thought 1: F_LF 0.250", "- Thought 2: failed: duplicate of g00-c01"]


def test_a_rule_that_lost_its_race_says_so_and_to_whom():
    why = RULES.lost(dict.fromkeys(range(6), 1.08), [1.0] * 10)
    text = earlier_attempts(ABOUT.model_copy(update={"earlier": (sample(1, f_lf=0.25, eliminated=why),)}), ())
    assert text == (
        "- Thought 1: F_LF 0.250, eliminated by racing: it took 8.0% more than the worst rule kept on 6 "
        "of 10 instances, p = 0.025"
    )


def test_of_many_attempts_the_best_and_the_latest_are_told():
    tried = tuple(sample(number, f_lf=1.0 if number < 6 else 0.1) for number in range(40))
    text = earlier_attempts(ABOUT.model_copy(update={"earlier": tried}), shown=()).split("\n")
    assert [line.split(".")[0].split(":")[0] for line in text] == [
        f"- Thought {number}" for number in (*range(6), *range(34, 40))
    ]
