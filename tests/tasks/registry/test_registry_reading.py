"""What the registry holds under a name, a hash or a reference, and the rule for an instance."""

import uuid
from pathlib import Path
from unittest.mock import Mock

import pytest

from bife_core.benchmarks.formulation import likeness_of
from bife_core.config import InstancesConfig
from bife_core.errors import RuleError
from bife_core.methods.base import RPB
from bife_core.methods.loading import stored_text
from bife_core.scip.reading import read_model
from bife_core.scip.solver import SolverConfig
from bife_core.scip.solving import SolveSettings
from tasks.registry import reading
from tasks.registry.reading import champion_of, list_rules, registered_name, rule_for, sample_name
from tasks.tracking import store
from tasks.tracking.store import TrackingError
from tests.support.challenging import challenge, made_champion, under

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


def test_a_rule_of_a_run_is_known_by_its_sample():
    def made(**known):
        run = store.client().create_run(store.experiment_id(store.EVOLUTION), tags=known)
        return run.info.run_id

    evolution = made(kind="evolution", best_sample="g02-c03", lineage="g02-c03 by e2")
    assert sample_name(f"runs:/{evolution}") == sample_name(f"runs:/{evolution}/best_rule.py") == "g02-c03"
    assert sample_name(f"runs:/{evolution}/g01-c00.py") == "g01-c00"
    assert sample_name(f"runs:/{made(kind='sample', sample_id='g01-c01')}") == "g01-c01"
    assert sample_name("paper_ca") is None


def test_a_champion_is_that_of_the_very_same_settings():
    instances = InstancesConfig(benchmark="independent_set", size="tiny")
    assert champion_of(instances, PAPER) is None
    made_champion(registered_name(instances, PAPER), 0, **under(PAPER))
    assert champion_of(instances, PAPER).solver == "paper settings"
    assert champion_of(instances, DEFAULT) is None
    made_champion(registered_name(instances, DEFAULT), 0, **under(PAPER))
    assert champion_of(instances, DEFAULT) is None, "the name alone is no proof"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("models:/bife-none@champion", "holds no models:"),
        ("models:/bife-none/3", "holds no models:"),
        ("models:/bife-none", "names no method"),
        ("models:/a/b@c", "names no method"),
        ("runs:/abc/model", "names no method"),
    ],
)
def test_references_that_lead_nowhere_give_a_sentence(reference, sentence):
    with pytest.raises(RuleError, match=sentence):
        stored_text(reference)


def test_all_rules_are_listed_with_their_aliases(name, monkeypatch):
    made_champion(name, 0)
    made_champion(name, 1, ratio=0.9)
    monkeypatch.setattr("mlflow.MlflowClient.get_model_version", None)  # not one request for each
    found = [(rule.version, rule.aliases) for rule in list_rules() if rule.name == name]
    assert found == [(2, ("challenger",)), (1, ("champion",))]


def register(how, models, number=0, **known):
    return how(
        f"bife-test-{uuid.uuid4().hex[:8]}", number, likeness=likeness_of(models).model_dump_json(), **known
    )


def test_the_best_champion_for_such_models_is_chosen(model):
    register(made_champion, [model], ratio=0.8)
    best = register(made_champion, [model], ratio=0.6, ci_low=0.5, ci_high=0.7)
    register(challenge, [model], ratio=0.1)
    register(made_champion, [model], ratio=0.1, ci_low=0.05, ci_high=0.2, **under(PAPER))
    reason = (
        "It was measured on instances like this one under SCIP default settings: 0.600 of RPB's CPU time."
    )
    assert rule_for(read_model(model), DEFAULT) == (f"models:/{best.name}@champion", reason)


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
def test_a_champion_of_other_settings_is_not_taken(tmp_path, asked, words):
    model = tmp_path / "packing.lp"
    rows = "".join(f" c{i}: x{i} + x{i + 1} + x{i + 2} <= 1\n" for i in range(60))
    names = " ".join(f"x{i}" for i in range(62))
    model.write_text(f"Maximize\n obj: x0 + x1\nSubject To\n{rows}Binaries\n {names}\nEnd\n")
    paper = register(made_champion, [model], **under(PAPER))
    reference, reason = rule_for(read_model(model), asked)
    assert reference == RPB
    known = f"models:/{paper.name}@champion was measured under paper settings, not under {words}"
    assert known in reason
    alike = SolveSettings(params={"separating/maxrounds": 0, "presolving/maxrestarts": 0}).under
    assert rule_for(read_model(model), alike)[0].startswith("models:/"), "settings count by what they set"


def test_a_model_unlike_all_is_left_to_rpb(model, tmp_path):
    champion = register(made_champion, [model])
    other = tmp_path / "other.lp"
    other.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinaries\n x y\nEnd\n")
    reference, reason = rule_for(read_model(other), DEFAULT)
    assert reference == RPB
    assert reason.startswith("No champion was made for instances like this one")
    assert f"{champion.name}: variables: 2 here, 9 there" in reason


@pytest.mark.parametrize(
    ("registered", "reason"),
    [
        ((), "There is no champion yet."),
        (TrackingError("MLflow is away."), "Champions are not known. MLflow is away."),
    ],
)
def test_without_champions_the_instance_is_not_looked_at(registered, reason, monkeypatch):
    monkeypatch.setattr(reading, "list_rules", Mock(side_effect=[registered]))
    assert rule_for(object(), DEFAULT) == (RPB, reason)
