import hashlib
import os
import pickle
import uuid
import warnings
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException

import bife_core.rules
from bife_core.config import InstancesConfig
from bife_core.errors import RuleError
from bife_core.features import FEATURES, N_FEATURES
from bife_core.methods.loading import load_method, stored_text
from bife_core.methods.mlp import Layer, MlpMethod
from bife_core.rules import rule_sha
from tasks.registry import (
    by_alias,
    list_rules,
    open_case,
    origin_of,
    promote,
    register_rule,
    registered_name,
    sample_name,
)
from tasks.tracking import store
from tests.support.challenging import beside, challenge, evidence, made_champion, source


@pytest.fixture
def name():
    return f"bife-test-{uuid.uuid4().hex[:8]}"


def test_names_are_clean_and_sizes_kept_apart():
    assert registered_name(InstancesConfig(benchmark="folder", folder=Path("/a/My models: 2/"))) == (
        "bife-My_models_2"
    )
    assert registered_name(InstancesConfig(benchmark="folder", folder=Path("/"))) == "bife-rules"
    assert registered_name(InstancesConfig(size="transfer")) == "bife-combinatorial_auction-transfer"


def test_the_source_comes_back_by_alias_and_by_version(name):
    registered = made_champion(name, 0)
    assert registered.aliases == ("challenger", "champion")
    assert stored_text(f"models:/{name}@champion") == source(0)
    assert stored_text(registered.reference) == source(0)


def test_load_rule_knows_the_scheme(name):
    registered = made_champion(name, 0)
    rule = bife_core.load_rule(registered.reference)
    features = np.ones((3, N_FEATURES))
    assert rule.score(features) == pytest.approx([1.0, 1.0, 1.0])


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

    evolution = made(kind="evolution", best_sample="g02-c03")
    assert sample_name(f"runs:/{evolution}") == sample_name(f"runs:/{evolution}/best_rule.py") == "g02-c03"
    assert sample_name(f"runs:/{evolution}/g01-c00.py") == "g01-c00"
    assert sample_name(f"runs:/{made(kind='sample', sample_id='g01-c01')}") == "g01-c01"
    assert sample_name("paper_ca") is None


def test_a_rule_of_an_evolution_has_the_lineage_of_its_sample():
    tags = {"kind": "evolution", "best_sample": "g01-c01", "lineage": "g01-c01 by e2 from g00-c01"}
    evolution = store.client().create_run(store.experiment_id(store.EVOLUTION), tags=tags).info.run_id
    assert origin_of(f"runs:/{evolution}").lineage == "g01-c01 by e2 from g00-c01"


def test_a_logged_model_is_named_after_benchmark_and_sample(name):
    run_id = store.client().create_run(store.experiment_id(store.EVALUATION)).info.run_id
    register_rule(name, source(0), evidence(0, evaluation_run=run_id, lineage="g02-c03 by m2 from g01-c00"))
    logged = mlflow.search_logged_models(
        experiment_ids=[store.experiment_id(store.EVALUATION)],
        filter_string=f"source_run_id = '{run_id}'",
        output_format="list",
    )
    assert [model.name for model in logged] == [f"{name}-g02-c03"]


def test_a_scorer_is_registered_and_loaded_like_a_rule(name):
    layer = Layer(weights=((1.0, -2.0),), bias=(0.5,))
    names = (FEATURES[24].name, FEATURES[3].name)
    scorer = MlpMethod(name="linear", inputs=names, layers=(layer,))
    given = evidence(0, sha=scorer.identity)
    registered = register_rule(name, scorer.text, given)
    assert load_method(registered.reference) == scorer
    with pytest.raises(RuleError, match="is no rule but a method"):
        bife_core.load_rule(registered.reference)
    features = np.random.default_rng(1).uniform(size=(4, 72))
    model = mlflow.pyfunc.load_model(f"models:/{name}@challenger")
    assert model.predict(features) == pytest.approx(scorer.score(features))
    version = store.client().get_model_version(name, str(registered.version))
    assert "```json" in version.description
    folder = Path(mlflow.artifacts.download_artifacts(version.source))
    (folder / "artifacts" / "method.json").write_text(scorer.text.replace("0.5", "0.6"))
    with pytest.raises(RuleError, match="has been altered"):
        stored_text(registered.reference)


def test_the_evidence_stands_in_tags_and_card(name):
    registered = made_champion(name, 0, evolution_key="key")
    assert registered.tags["ratio"] == "0.8"
    assert registered.tags["evolution_key"] == "key"
    version = store.client().get_model_version(name, str(registered.version))
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
        {"instances": 5},
        {"instances": 7, "confidence": 0.9917, "use": 2},
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
    assert "CPU time relative to relpscost is 1.000" in first.card
    assert made_champion(name, 1, ratio=0.5, **beside(0)).aliases == ("challenger",)
    assert open_case.fn(name).decision.reason == (
        "It takes 0.500 of RPB's CPU time, but the champion was judged by primal-dual integral, and only rules judged "
        "by the same metric compete; evaluate it by primal-dual integral too (evaluation.metric=primal_dual_integral)."
    )
    better = made_champion(name, 1, metric="primal_dual_integral", **beside(0))
    assert better.aliases == ("challenger", "champion")
    assert better.version == 3, "by another metric it is another entry"


def test_a_rule_judged_by_the_integral_does_not_displace_one_judged_by_time(name):
    first = made_champion(name, 0)
    by_integral = made_champion(name, 1, metric="primal_dual_integral", ratio=0.5, **beside(0))
    assert by_integral.aliases == ("challenger",)
    assert "the champion was judged by CPU time" in open_case.fn(name).decision.reason
    again = made_champion(name, 0, metric="primal_dual_integral")
    assert (again.version, again.aliases) == (3, ("challenger",)), "nor does the same rule take its place"
    assert by_alias(name, "champion").version == first.version


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
        with pytest.raises(RuleError, match="numpy and math only, not os"):
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
        ("models:/bife-none@champion", "The registry holds no"),
        ("models:/bife-none/3", "The registry holds no"),
        ("models:/bife-none", "names no registered rule"),
        ("models:/a/b@c", "names no registered rule"),
        ("runs:/abc/model", "names no rule of a run"),
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
