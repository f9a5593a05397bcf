"""Registered versions as models of MLflow: they are loaded by reference, never unpickled, and refused once altered."""

import hashlib
import os
import pickle
import warnings
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException

import bife_core
from bife_core.base.errors import RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES
from bife_core.registry.local import LocalRegistry
from bife_core.solver.methods.base import METHODS
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method, stored_text
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.store.home import project_home
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.mlflow_runs import TrackingError
from tests.support.challenging import made_champion, source
from tests.support.registered import champion_in
from tests.support.weighted import KIND, Weighted


def files(registered):
    """Return the folder of a version's files."""
    version = mlflow_runs.client().get_model_version(registered.name, str(registered.version))
    return Path(mlflow.artifacts.download_artifacts(version.source))


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


def test_the_source_comes_back_the_model_scores_candidates_and_there_is_no_pickle(name):
    registered = made_champion(name, 0)
    assert registered.aliases == ("challenger", "champion")
    for reference in (registered.reference, f"models:/{name}@champion"):
        assert stored_text(reference) == source(0)
    ones = np.ones((3, BRANCHING.n_features))
    assert bife_core.load_rule(registered.reference).score(ones) == pytest.approx([1.0, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = mlflow.pyfunc.load_model(f"models:/{name}@challenger")
    features = np.random.default_rng(1).uniform(size=(4, BRANCHING.n_features))
    for table in (features, pd.DataFrame(features)):
        assert model.predict(table) == pytest.approx(features[:, 20] * features[:, 21])
    with pytest.raises(MlflowException):
        model.predict(features[:, :71])
    folder = files(registered)
    assert [path.name for path in folder.rglob("*.pkl")] == []
    assert (folder / "artifacts" / "rule.py").read_text() == source(0)


def test_a_scorer_is_registered_and_loaded_like_a_rule(name, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    scorer = Weighted(name="linear", weights={FEATURES[24].name: 1.0, FEATURES[3].name: -2.5})
    registered = made_champion(name, 0, scorer)
    assert load_method(registered.reference) == scorer
    with pytest.raises(RuleError, match="is no rule but a method"):
        bife_core.load_rule(registered.reference)
    features = np.random.default_rng(1).uniform(size=(4, 72))
    model = mlflow.pyfunc.load_model(f"models:/{name}@challenger")
    assert model.predict(features) == pytest.approx(scorer.score(features))
    assert "```json" in registered.card
    folder = files(registered)
    (folder / "artifacts" / "method.json").write_text(scorer.text.replace("2.5", "2.6"))
    with pytest.raises(RuleError, match="has been altered"):
        stored_text(registered.reference)


def test_a_configuration_is_registered_and_loaded_but_scores_nothing(name):
    tuned = Configuration(params={"branching/scorefunc": "q"})
    registered = made_champion(name, 0, tuned)
    loaded = load_method(registered.reference)
    assert (loaded.identity, registered.tags["file"]) == (tuned.identity, "configuration.set")
    assert "```ini\n" in registered.card
    assert "\nbranching/scorefunc = q\n" in registered.card
    model = mlflow.pyfunc.load_model(registered.reference)
    assert model.unwrap_python_model().rule.params == tuned.params
    with pytest.raises(MlflowException, match="scores no candidates"):
        model.predict(np.zeros((4, 72)))


def test_a_rule_of_scip_is_registered_and_loaded(name):
    pscost = load_method("pscost")
    registered = made_champion(name, 0, pscost)
    assert load_method(f"models:/{name}@champion") == pscost
    assert mlflow.pyfunc.load_model(registered.reference).unwrap_python_model().rule == pscost


def test_a_rule_of_any_length_has_a_card_that_the_database_takes(name):
    lines = "".join(f"    # \N{GREEK SMALL LETTER ALPHA} {line}\n" for line in range(900))
    long = RuleMethod(
        name="long", source=f"def candidate_variable_score(f) -> float:\n{lines}    return f[20]\n"
    )
    registered = made_champion(name, 0, long, benchmark="b" * 5000, champion_obstacle="o\0" * 3000)
    assert len(registered.card) <= 4500
    assert f"the beginning of {len(long.text.rstrip()):,} characters" in registered.card
    assert stored_text(registered.reference) == long.text
    assert registered.tags["champion_obstacle"] == "o\ufffd" * 3000


def test_a_registration_that_failed_is_made_by_the_next_attempt(name, monkeypatch):
    def away(*_, **__):
        raise MlflowException("The database is away.")

    for step in ("create_model_version", "set_registered_model_alias"):
        monkeypatch.setattr(mlflow_runs.client(), step, away)
        with pytest.raises(TrackingError, match="The database is away"):
            made_champion(name, 0)
        monkeypatch.undo()
    registered = made_champion(name, 0)
    assert (registered.version, registered.aliases) == (1, ("challenger", "champion"))
    assert source(0).rstrip() in registered.card


def test_an_altered_rule_is_refused_and_a_hostile_one_even_where_every_hash_was_changed_with_it(name):
    registered = made_champion(name, 0)
    folder = files(registered)
    hostile = "import os\n" + source(9)
    (folder / "artifacts" / "rule.py").write_text(source(8))
    for load in (stored_text, mlflow.pyfunc.load_model):
        with pytest.raises(RuleError, match="it has been altered"):
            load(registered.reference)
    (folder / "artifacts" / "rule.py").write_text(hostile)
    described = folder / "MLmodel"
    sha = hashlib.sha256(hostile.encode()).hexdigest()
    described.write_text(described.read_text().replace(registered.tags["sha"], sha))
    mlflow_runs.client().set_model_version_tag(name, str(registered.version), "sha", sha)
    for load in (stored_text, bife_core.load_rule, mlflow.pyfunc.load_model):
        with pytest.raises(RuleError, match="not os"):
            load(registered.reference)


class _Trap:
    def __reduce__(self):
        return Path.touch, (Path(os.environ["BIFE_HOME"], "unpickled"),)


def test_a_pickle_beside_the_rule_is_never_read(name, home):
    registered = made_champion(name, 0)
    folder = files(registered)
    for place in ("python_model.pkl", "model.pkl", "artifacts/rule.pkl", "artifacts/rule.py.pkl"):
        (folder / place).write_bytes(pickle.dumps(_Trap()))
    assert stored_text(registered.reference) == source(0)
    mlflow.pyfunc.load_model(registered.reference)
    assert not (home / "unpickled").exists()


def test_what_mlflow_lacks_is_found_in_the_store(name):
    registered = champion_in(LocalRegistry(project_home().store), name, 0)
    references = (f"models:/{name}@champion", f"models:/{name}/{registered.version}")
    assert [stored_text(reference) for reference in references] == [source(0)] * 2


def test_a_version_whose_files_mlflow_lost_is_no_other_one_of_the_store(name):
    registered = made_champion(name, 0)
    champion_in(LocalRegistry(project_home().store), name, 1)
    assert stored_text(f"models:/{name}@champion") == source(0)
    (files(registered) / "artifacts" / "rule.py").unlink()
    for reference in (f"models:/{name}@champion", registered.reference):
        with pytest.raises(RuleError, match="but its files cannot be read"):
            stored_text(reference)
