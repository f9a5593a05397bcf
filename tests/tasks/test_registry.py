"""The registry: versions with their evidence, the gate, decisions of people, and the rule for an instance."""

import hashlib
import os
import pickle
import uuid
import warnings
from pathlib import Path
from unittest.mock import Mock

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException

import bife_core.rules
from bife_core.benchmarks.formulation import likeness_of
from bife_core.config import InstancesConfig
from bife_core.errors import RuleError
from bife_core.export import export_c
from bife_core.features import FEATURES, N_FEATURES
from bife_core.methods.base import METHODS, RPB
from bife_core.methods.loading import load_method, stored_text
from bife_core.methods.tuned_rpb import TunedRpb
from bife_core.rules import rule_sha
from bife_core.scip.reading import read_model
from bife_core.scip.solver import SolverConfig
from bife_core.scip.solving import SolveSettings
from tasks import registry
from tasks.registry import (
    CHALLENGER,
    CHAMPION,
    by_alias,
    champion_of,
    list_rules,
    open_case,
    origin_of,
    promote,
    refuse,
    registered_name,
    roll_back,
    rule_for,
    sample_name,
)
from tasks.tracking import store
from tasks.tracking.store import TrackingError
from tests.support.challenging import beside, challenge, evidence, made_champion, source, under
from tests.support.weighted import KIND, Weighted

DEFAULT, PAPER = SolverConfig(), SolverConfig(name="paper")


@pytest.fixture
def name():
    return f"bife-test-{uuid.uuid4().hex[:8]}"


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


def test_the_source_comes_back_by_alias_and_by_version(name):
    registered = made_champion(name, 0)
    assert registered.aliases == ("challenger", "champion")
    assert stored_text(f"models:/{name}@champion") == source(0)
    assert stored_text(registered.reference) == source(0)
    rule = bife_core.load_rule(registered.reference)
    assert rule.score(np.ones((3, N_FEATURES))) == pytest.approx([1.0, 1.0, 1.0])


def test_the_model_scores_candidates_and_holds_no_pickle(name, home, recwarn):
    registered = made_champion(name, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = mlflow.pyfunc.load_model(f"models:/{name}@challenger")
    features = np.random.default_rng(1).uniform(size=(4, N_FEATURES))
    assert model.predict(features) == pytest.approx(features[:, 20] * features[:, 21])
    with pytest.raises(MlflowException):
        model.predict(features[:, :71])
    version = store.client().get_model_version(name, str(registered.version))
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    assert [path.name for path in folder.rglob("*.pkl")] == []
    assert (folder / "artifacts" / "rule.py").read_text() == source(0)


def test_a_rule_of_a_run_is_known_by_its_sample():
    def made(**known):
        run = store.client().create_run(store.experiment_id(store.EVOLUTION), tags=known)
        return run.info.run_id

    evolution = made(kind="evolution", best_sample="g02-c03", lineage="g02-c03 by e2")
    assert sample_name(f"runs:/{evolution}") == sample_name(f"runs:/{evolution}/best_rule.py") == "g02-c03"
    assert sample_name(f"runs:/{evolution}/g01-c00.py") == "g01-c00"
    assert sample_name(f"runs:/{made(kind='sample', sample_id='g01-c01')}") == "g01-c01"
    assert sample_name("paper_ca") is None
    assert origin_of(f"runs:/{evolution}").lineage == "g02-c03 by e2"
    assert origin_of("paper_ca").lineage == ""


def test_a_scorer_is_registered_and_loaded_like_a_rule(name, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    scorer = Weighted(name="linear", weights={FEATURES[24].name: 1.0, FEATURES[3].name: -2.5})
    given = evidence(0, sha=scorer.identity)
    registered = registry.register.fn(name, scorer.text, given)
    assert load_method(registered.reference) == scorer
    with pytest.raises(RuleError, match="is no rule but a method"):
        bife_core.load_rule(registered.reference)
    features = np.random.default_rng(1).uniform(size=(4, 72))
    model = mlflow.pyfunc.load_model(f"models:/{name}@challenger")
    assert model.predict(features) == pytest.approx(scorer.score(features))
    version = store.client().get_model_version(name, str(registered.version))
    assert "```json" in version.description
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    (folder / "artifacts" / "method.json").write_text(scorer.text.replace("2.5", "2.6"))
    with pytest.raises(RuleError, match="has been altered"):
        stored_text(registered.reference)


def test_tuned_rpb_is_registered_and_loaded_but_scores_nothing(name):
    tuned = TunedRpb(params={"branching/scorefunc": "q"})
    registered = registry.register.fn(name, tuned.text, evidence(0, sha=tuned.identity))
    loaded = load_method(registered.reference)
    assert (loaded.identity, registered.tags["file"]) == (tuned.identity, "tuned_rpb.set")
    model = mlflow.pyfunc.load_model(registered.reference)
    assert model.unwrap_python_model().rule.params == tuned.params
    with pytest.raises(RuleError, match="scores no candidates"):
        model.predict(np.zeros((4, 72)))


def test_the_evidence_stands_in_tags_and_card(name):
    registered = made_champion(name, 0, evolution_key="key")
    assert registered.tags["ratio"] == "0.8"
    assert registered.tags["evolution_key"] == "key"
    version = store.client().get_model_version(name, str(registered.version))
    assert "**solver**: SCIP default settings" in version.description
    assert "0.800 (95 % interval 0.700 to 0.900, p = 0.001;" in version.description
    assert source(0).rstrip() in version.description


def test_the_same_rule_of_the_same_evolution_is_registered_once(name):
    first = made_champion(name, 0)
    again = made_champion(name, 0, ratio=0.75)
    assert again.version == first.version
    assert again.tags["ratio"] == "0.75"
    silent = made_champion(name, 0, ci_low=None, ci_high=None)
    assert "ci_low" not in silent.tags, "what the new evidence is silent on is known no more"
    assert made_champion(name, 0, evolution_key="another").version == first.version + 1


@pytest.mark.parametrize(
    "known",
    [
        {"ci_high": 1.0},
        {"ci_low": None, "ci_high": None},
        {"baseline": "pscost"},
        {"bound": None, "further": None},
        {"bound": 1.0, "further": 2},
        {"slower_share": 0.34},
        {"baseline_missing": 1},
        {"mismatches": 1},
        {"p_value": 0.06},
        {"missing": 1},
        {"proofs": 19},
    ],
)
def test_what_is_not_proven_faster_than_rpb_is_a_challenger_only(name, known):
    assert made_champion(name, 0, **known).aliases == ("challenger",)


def test_a_champion_falls_only_to_a_better_one(name):
    assert "champion" in made_champion(name, 0, ratio=0.8).aliases
    beside = {"champion_sha": rule_sha(source(0)), "champion_ratio": 0.9, "champion_ci_low": 0.8}
    beside["champion_p_value"] = 0.01
    assert made_champion(name, 1, ratio=0.7).aliases == ("challenger",)
    assert made_champion(name, 1, ratio=0.7, **beside, champion_ci_high=1.0).aliases == ("challenger",)
    late = {**beside, "champion_ci_high": 0.99}
    assert made_champion(name, 1, ratio=0.7, **late | {"champion_p_value": 0.06}).aliases == ("challenger",)
    assert made_champion(name, 1, ratio=0.7, **late, champion_obstacle="1 solve").aliases == ("challenger",)
    assert made_champion(name, 2, ratio=0.7, **beside, champion_ci_high=0.99).aliases == (
        "challenger",
        "champion",
    )
    assert stored_text(f"models:/{name}@champion") == source(2)


def test_a_challenger_that_passes_the_gate_gives_way_only_to_one_that_does(name):
    first = challenge(name, 0)
    assert challenge(name, 1, ratio=1.1, ci_low=0.9, ci_high=1.3, p_value=0.4).aliases == ()
    assert challenge(name, 2, ratio=0.95).aliases == ("challenger",)
    promote.fn(name, first.version, "a person", "faster")
    # Nothing says that it is faster than the champion there is by now.
    assert challenge(name, 3, ratio=1.1, ci_low=0.9, ci_high=1.3, p_value=0.4).aliases == ("challenger",)
    assert challenge(name, 4, **beside(0)).aliases == ("challenger",)
    assert challenge(name, 5).aliases == ()


def test_only_rules_judged_by_the_same_metric_compete(name):
    first = made_champion(name, 0, metric="primal_dual_integral", time_ratio=1.0)
    assert "champion" in first.aliases
    assert first.tags["metric"] == first.metric == "primal_dual_integral"
    assert "**Primal-dual integral relative to relpscost**: 0.800" in first.card
    assert "**time ratio**: 1.0" in first.card
    assert made_champion(name, 1, ratio=0.5, **beside(0)).aliases == ("challenger",)
    assert open_case.fn(name).decision.reason == (
        "It takes 0.500 of RPB's CPU time, but the champion was judged by primal-dual integral, and only rules judged "
        "by the same metric compete; evaluate it by primal-dual integral too (evaluation.metric=primal_dual_integral)."
    )
    better = made_champion(name, 1, metric="primal_dual_integral", **beside(0))
    assert better.aliases == ("challenger", "champion")
    assert better.version == 3, "by another metric it is another entry"


@pytest.mark.parametrize("before", [PAPER, None])
def test_only_rules_measured_under_the_same_settings_compete(name, before):
    earlier = {"solver": "", "solver_digest": "", "solver_params": ""} if before is None else under(before)
    first = made_champion(name, 0, **earlier)
    assert "champion" in first.aliases
    rival = made_champion(name, 1, ratio=0.1, ci_low=0.05, ci_high=0.2, **beside(0))
    same = made_champion(name, 0, ratio=0.1, ci_low=0.05, ci_high=0.2)
    assert (rival.aliases, by_alias(name, CHAMPION).version) == (("challenger",), first.version)
    assert same.version == 3, "under other settings it is another entry, and no proof of the champion"
    assert open_case.fn(name).decision.reason.startswith(
        "It takes 0.100 of RPB's CPU time under SCIP default settings, but the champion was measured under "
        + ("paper settings, and only" if before else "settings that were not recorded, and only")
    )


def test_a_champion_is_that_of_the_very_same_settings():
    instances = InstancesConfig(benchmark="independent_set", size="tiny")
    assert champion_of(instances, PAPER) is None
    made_champion(registered_name(instances, PAPER), 0, **under(PAPER))
    assert champion_of(instances, PAPER).solver == "paper settings"
    assert champion_of(instances, DEFAULT) is None
    made_champion(registered_name(instances, DEFAULT), 0, **under(PAPER))
    assert champion_of(instances, DEFAULT) is None, "the name alone is no proof"


def test_nodes_never_make_a_champion(name):
    few = made_champion(name, 0, metric="nodes")
    assert few.aliases == ("challenger",)
    assert open_case.fn(name).decision.reason == "It was judged by nodes, and fewer nodes make no champion."


def test_an_altered_rule_is_refused(name):
    registered = made_champion(name, 0)
    version = store.client().get_model_version(name, str(registered.version))
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    (folder / "artifacts" / "rule.py").write_text(source(9))
    with pytest.raises(RuleError, match="it has been altered"):
        stored_text(registered.reference)
    with pytest.raises(RuleError, match="it has been altered"):
        mlflow.pyfunc.load_model(registered.reference)


def test_a_hostile_text_is_refused_even_where_every_hash_was_changed_with_it(name):
    registered = made_champion(name, 0)
    version = store.client().get_model_version(name, str(registered.version))
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    hostile = "import os\n" + source(9)
    (folder / "artifacts" / "rule.py").write_text(hostile)
    described = folder / "MLmodel"
    sha = hashlib.sha256(hostile.encode()).hexdigest()
    described.write_text(described.read_text().replace(registered.tags["sha"], sha))
    store.client().set_model_version_tag(name, version.version, "sha", sha)
    for load in (stored_text, bife_core.load_rule, mlflow.pyfunc.load_model):
        with pytest.raises(RuleError, match="not os"):
            load(registered.reference)


class _Trap:
    def __reduce__(self):
        return Path.touch, (Path(os.environ["BIFE_HOME"], "unpickled"),)


def test_a_pickle_beside_the_rule_is_never_read(name, home):
    registered = made_champion(name, 0)
    version = store.client().get_model_version(name, str(registered.version))
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    for place in ("python_model.pkl", "model.pkl", "artifacts/rule.pkl", "artifacts/rule.py.pkl"):
        (folder / place).write_bytes(pickle.dumps(_Trap()))
    assert stored_text(registered.reference) == source(0)
    mlflow.pyfunc.load_model(registered.reference)
    assert not (home / "unpickled").exists()


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


def test_a_refused_rule_that_is_found_again_stays_refused(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "reads too many features")
    again = challenge(name, 0)
    assert (again.version, again.aliases) == (first.version, ())
    assert again.refusal.startswith("Ada refused it on 2")
    assert again.refusal.endswith("(reads too many features)")
    assert by_alias(name, CHALLENGER) is None

    elsewhere = challenge(name, 0, evolution_key="another search")
    assert (elsewhere.version, elsewhere.aliases) == (first.version + 1, ())
    assert elsewhere.tags["rejected_reason"] == "reads too many features"
    assert not challenge(name, 1).refusal, "another rule has nothing to do with it"


def test_measured_on_other_instances_it_is_a_challenger_again_and_the_refusal_is_told(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "no gain on our models")
    again = challenge(name, 0, test_digest="our models")
    assert (again.version, again.aliases, again.refusal) == (first.version, (CHALLENGER,), "")
    case = open_case.fn(name)
    assert case.refused.endswith("(no gain on our models)")
    # Back on the first instances, the word of then still holds.
    assert challenge(name, 0).refusal


def test_the_gate_does_not_overrule_a_person(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "it is not ours to use")
    assert made_champion(name, 0).aliases == ()
    assert by_alias(name, CHAMPION) is None


def test_a_champion_that_was_rolled_back_does_not_come_back_by_itself(name):
    first = made_champion(name, 0)
    second = made_champion(name, 1, **beside(0))
    assert second.aliases == (CHALLENGER, CHAMPION)
    roll_back.fn(name, "Grace", "slow on the new models")
    assert by_alias(name, CHALLENGER) is None
    again = made_champion(name, 1, **beside(0))
    assert (again.version, again.aliases) == (second.version, ())
    assert "Grace took it out of use on" in again.refusal
    assert by_alias(name, CHAMPION).version == first.version


def test_a_person_may_weigh_it_again(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "too early")
    store.client().set_registered_model_alias(name, CHALLENGER, str(first.version))
    case = open_case.fn(name)
    assert case.decision.promote
    assert case.refused.endswith("(too early)")
    assert challenge(name, 0).aliases == (CHALLENGER,), "registering leaves an alias alone that a person set"
    promote.fn(name, first.version, "Ada", "now it is time")
    assert not challenge(name, 0, evolution_key="another").refusal, "it was taken back"


@pytest.fixture
def model(tmp_path):
    """A model of a kind that no other test's champion was made for."""
    path = tmp_path / "chain.lp"
    rows = "".join(f" c{i}: 2 x{i} - 3 y + 5 x{i + 1} = {i % 4}\n" for i in range(7))
    names = " ".join(f"x{i}" for i in range(8))
    path.write_text(f"Minimize\n obj: x0 + y\nSubject To\n{rows}Bounds\n y <= 9\nGenerals\n {names}\nEnd\n")
    return path


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


def test_whoever_attaches_a_rule_of_other_settings_is_warned(name, model):
    made_champion(name, 0, **under(PAPER))
    reference = f"models:/{name}@champion"
    with pytest.warns(UserWarning, match=r"measured under paper settings; here separating/maxrounds is -1"):
        bife_core.attach(read_model(model), f"{reference},budget=0.5")
    with pytest.warns(UserWarning, match="was measured under paper settings"):
        bife_core.solve(model, reference)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        bife_core.solve(model, reference, solver="paper", time_limit_s=5, seed=3)
        bife_core.solve(model, bife_core.load_rule(reference))
    made_champion(
        f"{name}-own", 0, **under(SolverConfig(name="a.set", params={"lp/scaling": 0, "limits/time": 9.0}))
    )
    with pytest.warns(UserWarning, match=r"the settings of a\.set; here lp/scaling is 1 and was 0\."):
        bife_core.solve(model, f"models:/{name}-own@champion")
    unknown = made_champion(f"{name}-old", 0, solver_params="")
    with pytest.warns(UserWarning, match="settings it was measured under were not recorded"):
        bife_core.solve(model, unknown.reference, solver="paper")
    store.client().delete_model_version_tag(unknown.name, str(unknown.version), "solver_params")
    with pytest.warns(UserWarning, match="settings it was measured under were not recorded"):
        bife_core.solve(model, unknown.reference, solver="paper")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"heuristics/rens/freq": -1}, r"heuristics/rens/freq is -1 and was 0\."),
        ({"branching/scorefunc": "s"}, "branching/scorefunc is s and was p"),
        ({"limits/nodes": 1, "randomization/lpseed": 3, "branching/relpscost/priority": 9}, None),
    ],
)
def test_whatever_a_model_has_set_beside_the_recorded_is_told(name, model, params, said):
    reference = made_champion(name, 0).reference
    scip = read_model(model)
    scip.setParams(params)
    with pytest.warns(UserWarning, match=said) if said else warnings.catch_warnings():
        warnings.simplefilter("always" if said else "error", UserWarning)
        bife_core.attach(scip, reference)
    assert "Measured under SCIP default settings" in export_c(reference)


def test_a_comparison_under_other_settings_is_told(name, model, tmp_path):
    reference = made_champion(name, 0).reference
    with pytest.warns(UserWarning, match="here presolving/maxrestarts is 0 and was -1, sep"):
        bife_core.compare(reference, model, settings="paper", store=tmp_path, metric="nodes")


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
    monkeypatch.setattr(registry, "list_rules", Mock(side_effect=[registered]))
    assert rule_for(object(), DEFAULT) == (RPB, reason)
