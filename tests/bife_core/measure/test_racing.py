"""A race gives up what is behind, completes what may win, and disqualifies what proves something else."""

from pathlib import Path

import pytest

import bife_core.measure.race as racing
from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.measure import context as solve_context
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.race import CAP, MOST_BEYOND_S, USUAL, Race
from bife_core.measure.solves import Solved, SolveJob
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveResult, SolveSettings
from bife_core.store import Store
from bife_core.workers import InProcess

INSTANCES = [Instance(f"i{number}", Path(f"i{number}.mps"), f"digest{number}") for number in range(9)]
OTHER = Configuration(name="other", params={"lp/pricing": "d"})


def race(monkeypatch, tmp_path, seconds, *usual_s, seed=0):
    """A race whose solves take what `seconds` says of method, place and seed: CPU seconds, an optimum, or why not."""

    def solve_each(method, instances, solving, limits_s=None):
        found = []
        limits_s = limits_s or [solving.config.time_limit_s] * len(instances)
        for one, limit_s in zip(instances, limits_s, strict=True):
            said = seconds(method, INSTANCES.index(one), solving.config.seed)
            job = SolveJob(instance=one, method=method, settings=SolveSettings(seed=solving.config.seed))
            if isinstance(said, str):
                found.append(
                    Solved(
                        job,
                        failure=said,
                        cause="rule" if method is OTHER else None,
                        rpb_failure=None if method is OTHER else said,
                    )
                )
                continue
            cpu_s, optimum = said if isinstance(said, tuple) else (said, 1.0)
            calls.append((method.name, one.name, limit_s))
            done = cpu_s <= limit_s
            result = SolveResult(
                instance=one.name, method=method.name, seed=0, status="optimal" if done else "timelimit", nodes=1,
                lp_iterations=1, cpu_s=min(cpu_s, limit_s), wall_s=1.0, gap=0.0, primal_bound=optimum,
                dual_bound=optimum, primal_dual_integral=0.0, versions={},
            )  # fmt: skip
            found.append(Solved(job, result))
        return found

    calls = []
    for module in (racing, solve_context):
        monkeypatch.setattr(module, "solve_each", solve_each)
    config = HighFidelityConfig(time_limit_s=100.0, seed=seed)
    made = Race(INSTANCES, SolveContext(config, SolverConfig(), InProcess(), Store(tmp_path)))
    made.calls = calls
    made.begin(*usual_s)
    return made


def test_what_wins_is_measured_everywhere_and_the_default_on_the_first_alone(monkeypatch, tmp_path):
    one = race(
        monkeypatch, tmp_path, lambda method, place, _: (place + 1.0) * (0.5 if method is OTHER else 1.0)
    )
    assert len(one.calls) == USUAL
    found = one.run(OTHER)
    assert (found.won, found.seen, found.ratio) == (True, 9, pytest.approx(0.5))
    assert found.costs == tuple(0.5 * (place + 1) for place in range(9))
    names = [name for _, name, _ in one.calls[USUAL:]]
    assert names == [f"i{place}" for place in range(9)], "the cheapest first"
    one.best = list(found.costs)
    assert one.run(OTHER).won is False, "as good is no better"


@pytest.mark.parametrize(
    ("each_s", "measured", "kept"), [(73.0, 1, 1), (15.0, 2, 2), (6.0, 6, 6), (5.0, 6, 8), (4.0, 6, 9)]
)
def test_there_are_no_more_instances_than_the_default_solves_in_its_time(
    monkeypatch, tmp_path, each_s, measured, kept
):
    one = race(monkeypatch, tmp_path, lambda method, *_: each_s * (0.5 if method is OTHER else 1.0), 40.0)
    assert (len(one.calls), len(one.instances), one.cpu_s) == (measured, kept, each_s * measured)
    assert one.run(OTHER).costs == (0.5 * each_s,) * kept
    said = [
        f"{kept} of 9 design instances are tuned on: SCIP's default settings take {each_s:.0f} CPU seconds on each."
    ]
    assert one.notes == (said if kept < 9 else [])


def test_what_is_behind_is_given_up_early_and_its_solves_are_cut_short(monkeypatch, tmp_path):
    one = race(monkeypatch, tmp_path, lambda method, place, _: 50.0 if method is OTHER else 2.0 + place)
    found = one.run(OTHER)
    assert [call[1:] for call in one.calls[USUAL:]] == [("i0", 2.0 * CAP)]
    assert (found.won, found.seen, found.costs) == (False, 1, (None,) * 9)
    assert found.ratio == pytest.approx(CAP)
    assert "3.00 times as much as the best on 1 instance" in found.given_up


def test_a_solve_cut_short_is_solved_to_the_end_where_its_configuration_may_win(monkeypatch, tmp_path):
    def seconds(method, place, _):
        return (10.0 if method is not OTHER else 50.0 if place == 5 else 0.6) + place / 100

    one = race(monkeypatch, tmp_path, seconds)
    found = one.run(OTHER)
    assert found.won
    assert found.costs[5] == pytest.approx(50.05)
    assert [call for call in one.calls if call[:2] == ("other", "i5")] == [
        ("other", "i5", pytest.approx(10.05 + MOST_BEYOND_S)),
        ("other", "i5", 100.0),
    ]


def test_another_optimum_disqualifies_and_a_third_solve_says_whom(monkeypatch, tmp_path):
    wrong = race(
        monkeypatch, tmp_path, lambda method, place, _: (1.0, 2.0 if method is OTHER and place == 3 else 1.0)
    )
    found = wrong.run(OTHER)
    assert (found.ratio, found.won) == (None, False)
    assert found.failed.startswith(
        "i3: other ended optimal with 2.0, SCIP's default settings ended optimal with 1.0"
    )
    assert "with another seed likewise" in found.failed

    def default_is_wrong(method, place, seed):
        return (
            0.5 if method is OTHER else 1.0,
            2.0 if place == 3 and method is not OTHER and seed == 0 else 1.0,
        )

    largest = 2**31 - 1
    found = race(
        monkeypatch, tmp_path / "a", lambda *of: default_is_wrong(*of[:2], of[2] - largest), seed=largest
    ).run(OTHER)
    assert found.won, "the third solve has a seed that SCIP takes"

    other = race(monkeypatch, tmp_path / "b", default_is_wrong)
    found = other.run(OTHER)
    assert (found.won, found.ratio) == (True, pytest.approx(0.5))
    assert "i3" in other.notes[0]
    assert 3 not in other.places


def test_failures_are_the_methods_or_set_the_instance_aside(monkeypatch, tmp_path):
    one = race(
        monkeypatch, tmp_path, lambda method, place, _: "boom" if method is OTHER and place == 0 else 1.0
    )
    assert "boom" in one.run(OTHER).failed
    some = race(monkeypatch, tmp_path / "b", lambda method, place, _: "no memory" if place == 0 else 1.0)
    assert some.places == [1, 2, 3, 4, 5]
    assert some.notes == ["i0 is set aside, because SCIP fails on it: no memory"]
    with pytest.raises(SolverError, match=r"None of 6 design instances can be solved\. i0 is set aside"):
        race(monkeypatch, tmp_path / "c", lambda method, place, _: "no memory")


def test_what_was_cut_short_too_often_is_not_solved_to_the_end(monkeypatch, tmp_path):
    def seconds(method, place, _):
        return 1.0 + place / 100 if method is not OTHER else 0.25 if place < 3 else 90.0

    one = race(monkeypatch, tmp_path, seconds)
    found = one.run(OTHER)
    assert not found.won
    assert max(limit_s for name, _, limit_s in one.calls if name == "other") < 4.0


def test_another_optimum_disqualifies_where_the_default_was_not_measured(monkeypatch, tmp_path):
    wrong = Configuration(name="wrong", params={"lp/pricing": "s"})

    def seconds(method, place, seed):
        optimum = 2.0 if method is wrong and place == 8 else 1.0
        return (place + 1.0) * {wrong.name: 0.1, OTHER.name: 0.5}.get(method.name, 1.0), optimum

    one = race(monkeypatch, tmp_path, seconds)
    found = one.run(OTHER)
    one.best = list(found.costs)
    refuted = one.run(wrong)
    assert not refuted.won
    assert "i8: wrong ended optimal with 2.0, SCIP's default settings" in str(refuted.failed)
