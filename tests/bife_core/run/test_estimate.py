"""How long a run takes follows from what RPB takes, the settings, the cores, and how many instances there are."""

from bife_core.run.estimate import Estimate, estimate
from bife_core.run.presets import preset, with_overrides

QUICK = preset("quick")


def test_stages_are_those_of_the_run_in_order():
    names = [name for name, _ in estimate(QUICK, 2.0, 1, {}).stages]
    tuning, search = ["tuning"], ["collection", "search"]
    assert names == [*tuning, *search, *tuning, "validation", *tuning, "evaluation"]
    plain = estimate(with_overrides(QUICK, {"tune.seconds": 0}), 2.0, 1, {})
    assert [name for name, _ in plain.stages] == [*search, "validation", "evaluation"]
    assert dict(plain.stages)["evaluation"] == 16 * (2.0 + 2.0)


def test_it_grows_with_what_a_solve_takes_and_shrinks_with_cores_and_with_a_small_folder():
    usual = estimate(QUICK, 2.0, 1, {}).left_s
    assert estimate(QUICK, 20.0, 1, {}).left_s > 2 * usual
    assert estimate(QUICK, 2.0, 2, {}).left_s == usual / 2
    assert estimate(QUICK, 2.0, 8, {}).left_s > usual / 8  # a race has no work for eight
    assert estimate(QUICK, 2.0, 1, {"design": 3, "test": 4}).left_s < usual


def test_a_sentence_sums_a_stage_that_comes_again():
    stages = (("tuning", 240.0), ("search", 700.0), ("tuning", 240.0), ("evaluation", 20.0))
    found = Estimate(stages=stages, cores=1)
    assert found.sentence == "about 20 minutes on 1 core: tuning 8, search 12, evaluation < 1"
    assert found.model_copy(update={"at_least": True, "cores": 2}).sentence.startswith(
        "at least 20 minutes on 2 cores"
    )


def test_what_is_left_is_what_comes_after_and_what_the_stage_did_not_take_yet():
    whole = Estimate(stages=(("tuning", 60.0), ("search", 100.0), ("tuning", 30.0)), cores=1)
    assert whole.at("tuning", 20.0).left_s == 170.0
    search = whole.at("search")
    assert search.at("search", 500.0).left_s == 30.0
    assert search.at("tuning", 10.0).left_s == 20.0
    assert search.at("registration", 10.0) == search
