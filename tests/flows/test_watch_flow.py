"""The flow that watches a champion, on real solves."""

import pytest

from bife_core.registry.base import PromotionError
from bife_core.registry.choosing import registered_name
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.watch import CHAMPION_SLOWER, ChampionWatch, standing
from bife_core.solver.methods.references import load_method
from bife_flows.reporting.conductor import PrefectConductor
from bife_flows.stages import watch
from tests.support.challenging import made_champion
from tests.support.measured import summary

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prepared")]


@pytest.fixture
def config(monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_STORE", str(tmp_path))
    few = {"evaluation.instances": 1, "evaluation.seeds": [0], "instances.seed": 7}
    return with_overrides(preset("smoke"), few)


@pytest.fixture
def announced(monkeypatch):
    heard = []
    monkeypatch.setattr(
        PrefectConductor, "announce", lambda _, event, subject, payload: heard.append((event, payload))
    )
    return heard


def test_each_run_solves_new_instances_and_a_slower_champion_is_proposed_for_demotion_once(config, announced):
    with pytest.raises(PromotionError, match="has no champion to watch"):
        watch(with_overrides(config, {"instances.benchmark": "set_covering"}))
    name = registered_name(config.instances, config.solver)
    champion = made_champion(name, 0)
    counts = [one.comparison.instances + one.comparison.unbranched for one in (watch(config), watch(config))]
    assert counts == [1, 2]
    assert announced == []

    watched = ChampionWatch(load_method(champion.reference), config.solver, Runtime())
    watched.add_evaluation(summary([9.0] * 60, [1.0] * 60))
    for _ in range(2):
        assert standing(watch(config).comparison)[0]
    ((event, payload),) = announced
    assert event == CHAMPION_SLOWER
    assert (payload["name"], payload["version"]) == (name, champion.version)
    assert "it is slower than RPB" in payload["reason"]
