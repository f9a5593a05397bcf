"""A race eliminates what is behind, completes what may win, and disqualifies what proves something else."""

import pytest

from bife_core.base.errors import SolverError
from bife_core.measure.race import RULES, SETTINGS
from bife_core.measure.trials import USUAL, TrialRace
from bife_core.solver.methods.configuration import Configuration
from tests.support.raced import INSTANCES, OTHER, context, invent


@pytest.fixture
def race(monkeypatch, tmp_path):
    """Return a function that begins a race whose solves take what `outcome` says, with their instances and limits."""

    def begun(outcome, *usual_s, seed=0):
        jobs = invent(monkeypatch, outcome)
        made = TrialRace(INSTANCES, context(tmp_path, time_limit_s=100.0, seed=seed))
        made.begin(*usual_s)
        made.jobs = jobs
        return made

    return begun


def limits(race, method=OTHER):
    return [
        (job.instance.name, job.settings.time_limit_s) for job in race.jobs if job.method.name == method.name
    ]


def test_what_wins_is_measured_everywhere_and_the_default_on_the_first_alone(race):
    begun = race(lambda method, place, _: (place + 1.0) * (0.5 if method is OTHER else 1.0))
    assert len(begun.jobs) == USUAL
    raced = begun.run(OTHER)
    assert (raced.won, raced.seen, raced.ratio) == (True, 9, pytest.approx(0.5))
    assert raced.costs == tuple(0.5 * (place + 1) for place in range(9))
    assert [name for name, _ in limits(begun)] == [f"i{place}" for place in range(9)], "the cheapest first"
    assert begun.run(OTHER).won is False, "as good is no better"


@pytest.mark.parametrize(
    ("each_s", "measured", "kept"), [(73.0, 1, 1), (15.0, 2, 2), (6.0, 6, 6), (5.0, 6, 8), (4.0, 6, 9)]
)
def test_there_are_no_more_instances_than_the_default_solves_in_its_time(race, each_s, measured, kept):
    begun = race(lambda method, *_: each_s * (0.5 if method is OTHER else 1.0), 40.0)
    assert (len(begun.jobs), len(begun.instances), begun.cpu_s) == (measured, kept, each_s * measured)
    assert begun.run(OTHER).costs == (0.5 * each_s,) * kept
    note = f"{kept} of 9 design instances are tuned on: SCIP's default settings take {each_s:.0f} CPU seconds on each."
    assert begun.notes == ([note] if kept < 9 else [])


def test_what_is_behind_is_eliminated_early_and_its_solves_are_cut_short(race):
    begun = race(lambda method, place, _: 50.0 if method is OTHER else 2.0 + place)
    raced = begun.run(OTHER)
    assert limits(begun) == [("i0", 2.0 * SETTINGS.first)]
    assert (raced.won, raced.seen, raced.costs) == (False, 1, (None,) * 9)
    assert raced.ratio == pytest.approx(SETTINGS.first)
    assert "it took 2 times as much as the best on 1 of 6 instances, p = 0.0" in raced.eliminated


def test_a_solve_cut_short_is_solved_to_the_end_where_its_configuration_may_win(race):
    def seconds(method, place, _):
        return (10.0 if method is not OTHER else 50.0 if place == 5 else 0.6) + place / 100

    begun = race(seconds)
    raced = begun.run(OTHER)
    assert raced.won
    assert raced.costs[5] == pytest.approx(50.05)
    again = [limit_s for name, limit_s in limits(begun) if name == "i5"]
    assert again == [pytest.approx(10.05 + SETTINGS.beyond_s), 100.0]


def test_another_optimum_disqualifies_and_a_third_solve_says_whom(race):
    wrong = race(lambda method, place, _: (1.0, 2.0 if method is OTHER and place == 3 else 1.0, 1.0))
    raced = wrong.run(OTHER)
    assert (raced.ratio, raced.won) == (None, False)
    assert raced.failed.startswith(
        "i3: other ended optimal with 2.0, SCIP's default settings ended optimal with 1.0"
    )
    assert "with another seed likewise" in raced.failed

    largest = 2**31 - 1
    for first in (largest, 0):

        def default_is_wrong(method, place, seed, first=first):
            optimum = 2.0 if place == 3 and method is not OTHER and seed == first else 1.0
            return 0.5 if method is OTHER else 1.0, optimum, 1.0

        other = race(default_is_wrong, seed=first)
        raced = other.run(OTHER)
        assert (raced.won, raced.ratio) == (True, pytest.approx(0.5)), (
            "the third solve has a seed that SCIP takes"
        )
        assert "i3" in other.notes[0]
        assert 3 not in other.places


def test_failures_are_the_methods_or_set_the_instance_aside(race):
    begun = race(lambda method, place, _: "boom" if method is OTHER and place == 0 else 1.0)
    assert "boom" in begun.run(OTHER).failed
    some = race(lambda method, place, _: "no memory" if place == 0 else 1.0)
    assert some.places == [1, 2, 3, 4, 5]
    assert some.notes == ["i0 is set aside, because SCIP fails on it: no memory"]
    with pytest.raises(SolverError, match=r"None of 6 design instances can be solved\. i0 is set aside"):
        race(lambda method, place, _: "no memory")


def test_what_was_cut_short_too_often_is_not_solved_to_the_end(race):
    def seconds(method, place, _):
        return 1.0 + place / 100 if method is not OTHER else 0.25 if place < 3 else 90.0

    begun = race(seconds)
    assert not begun.run(OTHER).won
    assert max(limit_s for _, limit_s in limits(begun)) < 4.0


def test_another_optimum_disqualifies_where_the_default_was_not_measured(race):
    wrong = Configuration(name="wrong", params={"lp/pricing": "s"})

    def seconds(method, place, seed):
        optimum = 2.0 if method is wrong and place == 8 else 1.0
        return (place + 1.0) * {wrong.name: 0.1, OTHER.name: 0.5}.get(method.name, 1.0), optimum, 1.0

    begun = race(seconds)
    begun.run(OTHER)
    refuted = begun.run(wrong)
    assert not refuted.won
    assert "i8: wrong ended optimal with 2.0, SCIP's default settings" in str(refuted.failed)


@pytest.mark.parametrize(
    ("costs", "rival", "sentence"),
    [
        (
            [5.0],
            [1.0, 3.0],
            "it took 5 times as much as the worst rule kept on 1 of 2 instances, more than that one",
        ),
        ([9.0], [1.0, 99.0], None),  # one instance tells nothing
        (
            [1.5] * 2,
            [1.0] * 2 + [98.0],
            "it took 1.5 times as much as the worst rule kept on 2 of 3 instances, p = ",
        ),
        ([1.1] * 2, [1.0] * 2 + [98.0], None),  # two rules differ by that on any instance
        (
            [1.1] * 9,
            [1.0] * 9 + [91.0],
            "it took 10.0% more than the worst rule kept on 9 of 10 instances, p = ",
        ),
        ([3.0, 1.0] * 2, [1.0, 2.5] * 2 + [93.0], None),  # they take turns
        ([0.5] * 8, [1.0] * 8 + [92.0], None),
        ([1e-4] * 2, [1e-4] * 2, None),
        ([1.0, 3.0], [2.0, 2.0, 4.0], None),
        ([3.0, 1.02], [2.0, 2.0], "it took 0.5% more than the worst rule kept on 2 instances"),
        ([1.0, 1.0001], [1.0, 1.0], "it took a little more than the worst rule kept on 2 instances"),
    ],
)
def test_a_rule_loses_by_certainty_or_by_the_paired_test(costs, rival, sentence):
    reason = RULES.lost(dict(enumerate(costs)), rival)
    assert reason is sentence is None or reason.startswith(sentence)


def test_instances_come_in_the_order_of_the_default_settings_not_of_the_best(tmp_path):
    race = TrialRace(
        INSTANCES[:4], context(tmp_path), costs=[5.0, 1.0, None, 3.0], best=[0.1, 2.0, 0.05, None]
    )
    assert race.places == [1, 0, 2]
