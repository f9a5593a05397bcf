"""The middle fidelity eliminates what is far behind after a tenth of a long solve, and races the rest."""

import pytest

from bife_core.instances.base import Instance, digest_of_file
from bife_core.measure import trials
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.trials import BEHIND, TrialRace
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from tests.support.programs import FOREIGN
from tests.support.raced import INSTANCES, OTHER, context, invent

SECONDS = [20.0, 200.0, 60.0]
FAST = Configuration(name="fast", params={"lp/pricing": "s"})


@pytest.fixture
def into(monkeypatch, tmp_path):
    """Return a function that begins a race whose solves take `factors` of `SECONDS`, with their limits.

    A solve that is cut leaves a `gap`, times how much slower it is.
    """

    def made(factors, cost="time", scale=1.0, seconds=SECONDS, gap=0.01, enough=0.0):
        def outcome(method, place, _):
            factor = factors.get(method.name, 1.0)
            return scale * factor * seconds[place], 100.0, 100.0 * (1.0 - gap * factor)

        jobs = invent(monkeypatch, outcome)
        race = TrialRace(INSTANCES[:3], context(tmp_path, gap=enough, time_limit_s=1000.0, cost=cost))
        race.begin()
        jobs.clear()
        race.begin_middle()
        assert all(job.settings.objective_limit == 100.0 for job in jobs)
        return race, jobs

    return made


def limits(jobs):
    return [(job.method.name, job.instance.name, job.settings.time_limit_s) for job in jobs]


def test_the_longest_instance_is_cut_at_a_tenth(into):
    race, jobs = into({})
    assert limits(jobs) == [("relpscost", "i1", pytest.approx(20.0))]
    assert race.gap == pytest.approx(0.01)
    assert race.cpu_s == pytest.approx(sum(SECONDS) + 20.0), "its seconds are those of the default settings"


def test_an_instance_that_ends_at_the_limit_will_do(into):
    _, jobs = into({}, scale=10.0)
    assert limits(jobs) == [("relpscost", "i1", pytest.approx(100.0))]


@pytest.mark.parametrize(("seconds", "cut"), [([3.0, 200.0, 60.0], ("i2", 6.0)), ([1.0, 200.0, 60.0], None)])
def test_a_cut_costs_no_more_than_the_first_solve_of_a_race(into, seconds, cut):
    race, jobs = into({"other": 4.0}, seconds=seconds)
    assert [(name, pytest.approx(limit)) for _, name, limit in limits(jobs)] == ([cut] if cut else [])
    assert race.run(OTHER).cpu_s <= 2.0 * seconds[0]


@pytest.mark.parametrize("given", [{"gap": 1e-6}, {"enough": 0.01}])
def test_where_the_best_leaves_no_gap_nothing_is_eliminated_for_one(into, given):
    race, jobs = into({"other": 1.5}, **given)
    assert race.run(OTHER).seen == 3
    cut = [name for name, _, limit in limits(jobs) if limit == pytest.approx(20.0)]
    assert cut == ["relpscost"], "only the default settings are cut"


def test_a_gap_that_is_enough_is_as_good_as_none(into):
    race, _ = into({"other": 0.5, "fast": 0.9}, enough=0.006)
    assert race.gap == pytest.approx(0.01)
    assert [race._screen(method)[0] for method in (OTHER, FAST)] == [0.0, pytest.approx(0.009)]


def test_what_is_far_behind_costs_a_tenth_of_a_solve(into):
    race, jobs = into({"other": 1.5})
    raced = race.run(OTHER)
    assert limits(jobs[1:]) == [("other", "i1", pytest.approx(20.0))]
    assert (raced.won, raced.seen, raced.costs) == (False, 0, (None,) * 3)
    assert (raced.cpu_s, raced.ratio) == (pytest.approx(20.0), pytest.approx(1.5))
    assert raced.eliminated == "1.50 times the gap of the best after 20 s of i1"


def test_what_is_a_little_behind_is_raced_and_pays_for_both(into):
    factor = BEHIND - 0.01
    race, jobs = into({"other": factor})
    raced = race.run(OTHER)
    assert raced.seen == 3
    whole = [min(factor * SECONDS[int(name[1:])], limit) for _, name, limit in limits(jobs[2:])]
    assert raced.cpu_s == pytest.approx(20.0 + sum(whole))


def test_what_wins_sets_the_gap_to_reach(into):
    race, _ = into({"fast": 0.5, "other": 0.8})
    assert race.run(OTHER).won
    assert race.run(FAST).won
    assert race.gap == pytest.approx(0.005)
    assert race.run(OTHER).eliminated.startswith("1.60 times the gap of the best")


def test_there_is_no_cut_once_the_best_hardly_takes_longer(into):
    race, jobs = into({"fast": 0.15, "other": 5.0})
    assert race.run(FAST).won
    jobs.clear()
    assert race.run(OTHER).seen == 1
    assert all(limit != pytest.approx(20.0) for *_, limit in limits(jobs))


@pytest.mark.parametrize(("cost", "scale"), [("nodes", 1.0), ("time", 0.1)])
def test_short_solves_and_other_costs_have_no_middle_fidelity(into, cost, scale):
    race, jobs = into({"other": 1.01}, cost, scale)
    assert jobs == []
    assert race.run(OTHER).seen == 3
    assert all(limit > 0.2 * scale * max(SECONDS) or name != "i1" for _, name, limit in limits(jobs))


def test_a_solve_in_scip_is_cut_and_leaves_a_gap(monkeypatch, pool, tmp_path):
    monkeypatch.setattr(trials, "LEAST_S", 0.0)
    path, config = FOREIGN / "lseu.mps", HighFidelityConfig(time_limit_s=100.0)
    instance = Instance("lseu", path, digest_of_file(path))
    race = TrialRace([instance], SolveContext(config, SolverConfig(), pool, Store(tmp_path)))
    race.begin()
    race.begin_middle()
    assert race.middle_s == pytest.approx(0.1 * race.costs[0])
    assert 0.0 < race.gap < 0.5
    race.gap /= 100.0
    assert "times the gap of the best" in race.run(OTHER).eliminated
