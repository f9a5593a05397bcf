"""Methods are compared by CPU time, or by the primal integral where no solve ends and the dual bound stands still."""

import pytest

from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import choose_cost
from bife_core.measure.trials import TrialRace
from bife_core.run.presets import preset, with_overrides
from bife_core.run.settings import configuration, settings_of
from bife_core.run.stages.results import Precheck
from tests.support.measured import result
from tests.support.raced import INSTANCES, context, invent

STUCK = {"status": "timelimit", "cpu_s": 60.0, "root_s": 2.0, "incumbents": ((10.0, 40.0),)}
STUCK |= {"primal_bound": 40.0, "root_bound": 1.0, "dual_bound": 1.1}
ENDED = {"status": "optimal", "cpu_s": 20.0}


def chosen(*solves, **config):
    return choose_cost(HighFidelityConfig(**config), [result(**fields) for fields in solves])


def test_where_all_solves_stand_still_it_is_the_primal_integral():
    cost, why = chosen(STUCK, STUCK | {"primal_bound": None})
    assert cost == "primal_integral"
    assert why == (
        "0 of 2 solves ended within 60 CPU seconds, and the dual bound stands still: methods are compared by the "
        "primal integral."
    )


@pytest.mark.parametrize(
    ("solves", "ended"),
    [
        ((ENDED, ENDED), "2 of 2 solves"),
        ((STUCK, ENDED), "1 of 2 solves"),
        ((STUCK, STUCK | {"dual_bound": 20.0}), "0 of 2 solves"),
        ((STUCK | {"root_s": 40.0},), "0 of 1 solve"),
        ((STUCK | {"root_bound": None},), "0 of 1 solve"),
    ],
)
def test_else_it_is_time(solves, ended):
    cost, why = chosen(*solves)
    assert (cost, why) == ("time", f"{ended} ended within 60 CPU seconds: methods are compared by CPU time.")


def test_what_is_set_stays():
    assert chosen(STUCK, cost="time") == ("time", "")
    assert chosen(STUCK, cost="nodes") == ("nodes", "")
    assert chosen() == ("time", "")
    quick = preset("quick")
    assert quick.high.choose_cost
    for name, value in (("high.cost", "time"), ("high.cost", "gap"), ("evaluation.metric", "time")):
        given = configuration({"seed": 0, "advanced": {name: value}})
        assert not given.high.choose_cost
        assert configuration(settings_of(given)) == given
    assert configuration(settings_of(quick)) == quick, "all settings in a file are those that they were"
    assert not preset("paper", "item_placement").high.choose_cost


def test_the_precheck_chooses_for_the_search_and_the_evaluation():
    config = preset("quick")
    under = Precheck(sentence="", cost="primal_integral").put_into(config)
    assert (under.high.cost, under.evaluation.metric) == ("primal_integral",) * 2
    assert with_overrides(under, {"high.instances": 5}).high.cost == "primal_integral"
    for cost in ("time", None):
        assert Precheck(sentence="", cost=cost).put_into(config) == config


def test_a_tuning_alone_chooses_by_its_first_solves(monkeypatch, tmp_path):
    invent(monkeypatch, lambda *_: STUCK)
    race = TrialRace(INSTANCES[:2], context(tmp_path))
    race.begin()
    assert race.costs == [10.0, 10.0]
    assert ["compared by the primal integral" in note for note in race.notes] == [True]
    given = TrialRace(INSTANCES[:2], context(tmp_path, cost="time"))
    given.begin()
    assert (given.costs, given.notes) == ([60.0, 60.0], [])
