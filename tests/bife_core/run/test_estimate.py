"""How long a run takes follows from what RPB takes, the settings, the cores, and how many instances there are."""

import pytest

from bife_core.run.estimate import Estimate, Pace, estimate
from bife_core.run.presets import preset, with_overrides

QUICK = preset("quick")


def test_stages_are_those_of_the_run_in_order():
    names = [name for name, _ in estimate(QUICK, 2.0, 1, {}).stages]
    tuning, search = ["tuning"], ["collection", "search"]
    assert names == [*tuning, *search, *tuning, "validation", "ablation", *tuning, "evaluation"]
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


def test_what_is_left_is_what_comes_after():
    whole = Estimate(stages=(("tuning", 60.0), ("search", 100.0), ("tuning", 30.0)), cores=1)
    tuned_s, rest = whole.begin("tuning")
    assert (tuned_s, rest.left_s) == (60.0, 130.0)
    searched_s, last = whole.begin("search")
    assert (searched_s, last.begin("tuning")[0], last.left_s) == (100.0, 30.0, 30.0)
    assert whole.begin("registration") == (0.0, whole)


def test_a_stage_tells_by_its_own_pace_what_is_left_of_it():
    pace = Pace(60.0, now_s=100.0)
    assert pace.left_s(120.0) == 40.0
    assert pace.left_s(260.0) == 40.0, "a quarter of the 160 s that it took"
    pace.reached(0.05, 260.0)
    assert pace.left_s(260.0) == (40.0 + 160.0 * 0.95 / 0.05) / 2, "half by the estimate"
    for share in (0.2, 0.8):
        pace.reached(share, 100.0 + 1000.0 * share)
        assert pace.left_s(100.0 + 1000.0 * share) == pytest.approx(1000.0 * (1 - share))
    assert pace.left_s(1000.0) > 1000.0 * (1 - 0.8), "it has stood still since"


def test_what_an_earlier_run_stored_tells_no_pace():
    pace = Pace(60.0, now_s=0.0)
    pace.reached(0.5, 1.0)
    assert pace.left_s(1.0) == 30.0
    pace.reached(0.6, 11.0)
    assert pace.left_s(11.0) == pytest.approx(40.0), "a tenth in ten seconds"
    pace.reached(0.8, 12.0, stored=True)
    pace.reached(0.9, 32.0)
    assert pace.left_s(32.0) == pytest.approx(20.0)
