"""Names of registered rules, champions under the very same settings, and the rule for an instance."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from bife_core.base.errors import RegistryError, StoreError
from bife_core.instances.formulation import likeness_of
from bife_core.registry.choosing import registered_name
from bife_core.registry.evidence import CHAMPION, UNGATED
from bife_core.run.config import InstancesConfig
from bife_core.solver.methods.base import RPB
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings
from tests.support.registered import evidence, source, under

DEFAULT, PAPER = SolverConfig(), SolverConfig(name="paper")


def test_names_are_clean_and_sizes_kept_apart():
    for given, expected in (
        ({"benchmark": "folder", "folder": Path("/a/My models: 2/")}, "bife-My_models_2"),
        ({"benchmark": "folder", "folder": Path("/")}, "bife-rules"),
        ({"benchmark": "folder", "folder": Path("/a/toys--paper")}, "bife-toys-paper"),
        ({"size": "transfer"}, "bife-combinatorial_auction-transfer"),
    ):
        assert registered_name(InstancesConfig(**given), DEFAULT) == expected
        assert registered_name(InstancesConfig(**given), PAPER) == f"{expected}--paper"


def test_each_settings_of_scip_have_a_name_of_their_own():
    auctions, own = InstancesConfig(), SolverConfig(name="fast one.set", params={"heuristics/rens/freq": -1})
    assert registered_name(auctions, own) == f"bife-combinatorial_auction--fast_one_{own.digest[:6]}"
    asked = SolverConfig(gap=0.01)
    assert registered_name(auctions, asked) == f"bife-combinatorial_auction--default_{asked.digest[:6]}"
    long = [SolverConfig(name=f"{'s' * 250}.set", params={"limits/nodes": n}) for n in (1, 2)]
    names = {
        registered_name(InstancesConfig(benchmark="folder", folder=Path("/" + "f" * 250)), one)
        for one in long
    }
    assert [len(name) for name in names] == [200, 200]


def test_a_champion_is_that_of_the_very_same_settings(registry):
    instances = InstancesConfig(benchmark="independent_set", size="tiny")
    assert registry.champion_of(instances, PAPER) is None
    registry.register(registered_name(instances, PAPER), source(0), evidence(0, **under(PAPER)), by_gate=True)
    assert registry.champion_of(instances, PAPER).solver == "paper settings"
    assert registry.champion_of(instances, DEFAULT) is None
    registry.register(
        registered_name(instances, DEFAULT), source(0), evidence(0, **under(PAPER)), by_gate=True
    )
    assert registry.champion_of(instances, DEFAULT) is None, "the name alone is no proof"


@pytest.fixture
def made_for(registry):
    """Register a rule that was measured on an instance, and let the gate decide, if it may."""

    def register(instance, by_gate=True, **known):
        name, likeness = f"bife-test-{len(registry.versions())}", likeness_of([instance]).model_dump_json()
        return registry.register(name, source(0), evidence(0, likeness=likeness, **known), by_gate)

    return register


def test_the_best_champion_for_such_models_is_chosen(registry, made_for, model):
    made_for(model, ratio=0.8)
    best = made_for(model, ratio=0.6, ci_low=0.5, ci_high=0.7)
    made_for(model, by_gate=False, ratio=0.1)
    made_for(model, ratio=0.1, ci_low=0.05, ci_high=0.2, **under(PAPER))
    reason = (
        "It was measured on instances like this one under SCIP default settings: 0.600 of RPB's CPU time."
    )
    assert registry.rule_for(read_model(model), DEFAULT) == (f"models:/{best.name}@champion", reason)


def test_a_champion_whose_alias_was_set_by_hand_says_so(registry, made_for, model):
    chosen = made_for(model, by_gate=False)
    registry.set_alias(chosen.name, CHAMPION, chosen.version)
    assert registry.rule_for(read_model(model), DEFAULT)[1].endswith(f"CPU time{UNGATED}.")
    assert registry.registered(chosen.reference).standing == f"challenger champion{UNGATED}"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (DEFAULT, "SCIP default settings"),
        (SolverConfig(name="paper", gap=0.01), "paper settings to a gap of 1 %"),
        (
            SolveSettings(params={"separating/maxrounds": 0, "limits/nodes": 5}).under,
            "SCIP default settings with ",
        ),
    ],
)
def test_a_champion_of_other_settings_is_not_taken(registry, made_for, tmp_path, asked, words):
    model = tmp_path / "packing.lp"
    rows = "".join(f" c{i}: x{i} + x{i + 1} + x{i + 2} <= 1\n" for i in range(60))
    names = " ".join(f"x{i}" for i in range(62))
    model.write_text(f"Maximize\n obj: x0 + x1\nSubject To\n{rows}Binaries\n {names}\nEnd\n")
    paper = made_for(model, **under(PAPER))
    reference, reason = registry.rule_for(read_model(model), asked)
    assert reference == RPB
    known = f"models:/{paper.name}@champion was measured under paper settings, not under {words}"
    assert known in reason
    alike = SolveSettings(params={"separating/maxrounds": 0, "presolving/maxrestarts": 0}).under
    assert registry.rule_for(read_model(model), alike)[0].startswith("models:/"), (
        "settings count by what they set"
    )


def test_a_model_unlike_all_is_left_to_rpb(registry, made_for, model, tmp_path):
    champion = made_for(model)
    other = tmp_path / "other.lp"
    other.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinaries\n x y\nEnd\n")
    reference, reason = registry.rule_for(read_model(other), DEFAULT)
    assert reference == RPB
    assert reason.startswith("No champion was made for instances like this one")
    assert f"{champion.name}: variables: 2 here, 9 there" in reason


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ((), "There is no champion yet."),
        (RegistryError("MLflow is away."), "Champions are not known. MLflow is away."),
        (StoreError("The disk is full."), "Champions are not known. The disk is full."),
    ],
)
def test_without_champions_the_instance_is_not_looked_at(registry, versions, reason, monkeypatch):
    monkeypatch.setattr(registry, "versions", Mock(side_effect=[versions]))
    assert registry.rule_for(object(), DEFAULT) == (RPB, reason)
