"""The middle fidelity gives up what is far behind after a tenth of a long solve, and races the rest."""

from pathlib import Path

import pytest

from bife_core.instances.base import Instance, digest_of_file
from bife_core.measure import context as solve_context, middle, race as racing
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.middle import BEHIND, MiddleFidelity
from bife_core.measure.race import Race
from bife_core.measure.solves import Solved, SolveJob
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveResult, SolveSettings
from bife_core.store import Store
from bife_core.workers import InProcess

INSTANCES = [Instance(f"i{number}", Path(f"i{number}.mps"), f"digest{number}") for number in range(3)]
SECONDS = [20.0, 200.0, 60.0]
OTHER = Configuration(name="other", params={"lp/pricing": "d"})
FAST = Configuration(name="fast", params={"lp/pricing": "s"})


@pytest.fixture
def into(monkeypatch, tmp_path):
    """Return a function that makes a race whose solves take `factors` of `SECONDS`, and the way into it.

    A solve that is cut leaves a `gap`, times how much slower it is.
    """

    def made(factors, cost="time", scale=1.0, seconds=SECONDS, gap=0.01, enough=0.0):
        def solve_each(method, instances, solving, limits_s=None):
            found = []
            for one, limit_s in zip(instances, limits_s or [1000.0] * len(instances), strict=True):
                factor = factors.get(method.name, 1.0)
                whole = scale * factor * seconds[INSTANCES.index(one)]
                solves.append((method.name, one.name, limit_s))
                done = whole <= limit_s
                result = SolveResult(
                    instance=one.name, method=method.name, seed=0, status="optimal" if done else "timelimit",
                    nodes=1, lp_iterations=1, cpu_s=min(whole, limit_s), wall_s=1.0, gap=0.0, primal_bound=100.0,
                    dual_bound=100.0 if done else 100.0 * (1.0 - gap * factor), primal_dual_integral=0.0, versions={},
                )  # fmt: skip
                found.append(Solved(SolveJob(instance=one, method=method, settings=SolveSettings()), result))
            return found

        def run_solves(groups, store, pool, **how):
            ((job,),) = groups
            assert job.settings.objective_limit == 100.0
            return solve_each(job.method, [job.instance], None, [job.settings.time_limit_s])

        solves = []
        for module in (racing, solve_context):
            monkeypatch.setattr(module, "solve_each", solve_each)
        monkeypatch.setattr(middle, "run_solves", run_solves)
        config = HighFidelityConfig(time_limit_s=1000.0, cost=cost)
        race = Race(INSTANCES, SolveContext(config, SolverConfig(gap=enough), InProcess(), Store(tmp_path)))
        race.begin()
        solves.clear()
        return MiddleFidelity.into(race), solves

    return made


def test_the_longest_instance_is_cut_at_a_tenth(into):
    way, solves = into({})
    assert solves == [("relpscost", "i1", pytest.approx(20.0))]
    assert way.best.gap == pytest.approx(0.01)
    assert way.race.cpu_s == pytest.approx(sum(SECONDS) + 20.0), (
        "its seconds are those of the default settings"
    )


def test_an_instance_that_ends_at_the_limit_will_do(into):
    _, solves = into({}, scale=10.0)
    assert solves == [("relpscost", "i1", pytest.approx(100.0))]


@pytest.mark.parametrize(("seconds", "cut"), [([2.0, 200.0, 60.0], ("i2", 6.0)), ([1.0, 200.0, 60.0], None)])
def test_a_cut_costs_no_more_than_the_first_solve_of_a_race(into, seconds, cut):
    way, solves = into({"other": 4.0}, seconds=seconds)
    assert [(name, pytest.approx(limit)) for _, name, limit in solves] == ([cut] if cut else [])
    assert way.run(OTHER).cpu_s <= 3.0 * seconds[0]


@pytest.mark.parametrize("given", [{"gap": 1e-6}, {"enough": 0.01}])
def test_where_the_best_leaves_no_gap_nothing_is_given_up_for_one(into, given):
    way, solves = into({"other": 1.5}, **given)
    assert way.run(OTHER).seen == 3
    assert sum(limit == pytest.approx(20.0) for _, _, limit in solves) == 1, (
        "only the default settings are cut"
    )


def test_a_gap_that_is_enough_is_as_good_as_none(into):
    way, _ = into({"other": 0.5, "fast": 0.9}, enough=0.006)
    assert way.best.gap == pytest.approx(0.01)
    assert way._screen(OTHER).gap == 0.0
    assert way._screen(FAST).gap == pytest.approx(0.009)


def test_what_is_far_behind_costs_a_tenth_of_a_solve(into):
    way, solves = into({"other": 1.5})
    raced = way.run(OTHER)
    assert solves[1:] == [("other", "i1", pytest.approx(20.0))]
    assert (raced.won, raced.seen, raced.costs) == (False, 0, (None,) * 3)
    assert (raced.cpu_s, raced.ratio) == (pytest.approx(20.0), pytest.approx(1.5))
    assert raced.given_up == "1.50 times the gap of the best after 20 s of i1"


def test_what_is_a_little_behind_is_raced_and_pays_for_both(into):
    factor = BEHIND - 0.01
    way, solves = into({"other": factor})
    raced = way.run(OTHER)
    assert raced.seen == 3
    whole = [(method, name, limit) for method, name, limit in solves if method == "other"][1:]
    assert raced.cpu_s == pytest.approx(
        20.0 + sum(min(factor * SECONDS[int(name[1:])], limit) for _, name, limit in whole)
    )


def test_what_wins_sets_the_gap_to_reach(into):
    way, _ = into({"fast": 0.5, "other": 0.8})
    assert way.run(OTHER).won
    way.race.best = [0.8 * seconds for seconds in SECONDS]
    assert way.run(FAST).won
    way.race.best = [0.5 * seconds for seconds in SECONDS]
    assert way.best.gap == pytest.approx(0.005)
    assert way.run(OTHER).given_up.startswith("1.60 times the gap of the best")


def test_there_is_no_cut_once_the_best_hardly_takes_longer(into):
    way, solves = into({"fast": 0.15, "other": 5.0})
    assert way.run(FAST).won
    way.race.best = [0.15 * seconds for seconds in SECONDS]
    solves.clear()
    assert way.run(OTHER).seen == 1
    assert all(limit != pytest.approx(20.0) for _, _, limit in solves)


@pytest.mark.parametrize(("cost", "scale"), [("nodes", 1.0), ("time", 0.1)])
def test_short_solves_and_other_costs_have_no_middle_fidelity(into, cost, scale):
    way, solves = into({"other": 1.01}, cost, scale)
    assert solves == []
    assert way.run(OTHER).seen == 3
    assert all(limit > 0.2 * scale * max(SECONDS) or name != "i1" for _, name, limit in solves)


def test_a_solve_in_scip_is_cut_and_leaves_a_gap(monkeypatch, golden_dir, pool, tmp_path):
    monkeypatch.setattr(middle, "LEAST_S", 0.0)
    path = golden_dir / "setcover_0.mps.gz"
    instance = Instance("setcover_0", path, digest_of_file(path))
    race = Race(
        [instance],
        SolveContext(HighFidelityConfig(time_limit_s=100.0), SolverConfig(), pool, Store(tmp_path)),
    )
    race.begin()
    way = MiddleFidelity.into(race)
    assert way.limit_s == pytest.approx(0.1 * race.costs[0])
    assert 0.0 < way.best.gap < 0.5
    way.best = way.best.model_copy(update={"gap": way.best.gap / 100.0})
    assert "times the gap of the best" in way.run(OTHER).given_up
