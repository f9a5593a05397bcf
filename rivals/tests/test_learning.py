"""Training of networks: it learns, goes on where it was killed, stops early, and gives what machine code runs."""

from itertools import islice

import numpy as np
import pytest

pytest.importorskip("jax", reason="training needs the extra `learned` of bife-rivals")

import mlflow

from bife_core import load_method
from bife_rivals import accuracy, gnn_model, learning
from bife_rivals.film import Film
from bife_rivals.gnn import Gnn
from bife_rivals.graphs import Samples, join
from bife_rivals.learning import STATE, State, TrainingConfig, begin, epochs, measure

CONFIG = TrainingConfig(batch=24, steps=None, epochs=3, rate=3e-3)
"""All samples in one batch: whatever their order, it has one shape, and what is compiled once serves every epoch."""


@pytest.fixture(scope="module")
def train(recorded):
    return Samples.of(recorded.nodes[:-1], 24)


@pytest.fixture(scope="module")
def valid(recorded):
    return Samples.of(recorded.nodes[-1:], 8)


def test_a_batch_holds_every_node_and_padding_changes_nothing(train):
    drawn = [train[k] for k in range(3)]
    weights = begin(Gnn(), train, CONFIG).weights
    together = np.asarray(gnn_model.scores(weights, Gnn.batch(drawn, 24)))
    ends = np.cumsum([len(sample.best) for sample in drawn])
    for sample, own in zip(drawn, np.split(together[: ends[-1]], ends[:-1]), strict=True):
        alone = np.asarray(gnn_model.scores(weights, join([sample.node], [sample.taken], 1)))
        np.testing.assert_allclose(own, alone[: len(own)], atol=1e-5)


def test_normalisations_are_fitted_to_samples(train):
    drawn = [train[k] for k in range(len(train))]
    weights = gnn_model.fitted(Gnn.initial(0), [Gnn.batch(drawn[:20], 20), Gnn.batch(drawn[20:], 20)])
    variables = np.concatenate([sample.node.variables for sample in drawn])
    shift, scale = (np.asarray(weights[f"norm.variables.{what}"]) for what in ("shift", "scale"))
    seen = (variables + shift) * scale
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-4)
    assert set(np.round(seen.std(axis=0), 3)) <= {0.0, 1.0}


def test_a_killed_training_ends_with_the_same_weights(train, valid, tmp_path):
    whole = list(epochs(Gnn(), train, valid, CONFIG, tmp_path / "whole"))
    assert [state.epoch for state, _ in whole] == [1, 2, 3]
    assert whole[-1][1]["train_loss"] < whole[0][1]["train_loss"]
    list(islice(epochs(Gnn(), train, valid, CONFIG, tmp_path / "killed"), 1))
    resumed = list(epochs(Gnn(), train, valid, CONFIG, tmp_path / "killed"))
    assert [metrics for _, metrics in resumed] == [metrics for _, metrics in whole[1:]]
    assert (tmp_path / "killed" / STATE).read_bytes() == (tmp_path / "whole" / STATE).read_bytes()
    assert list(epochs(Gnn(), train, valid, CONFIG, tmp_path / "killed")) == []

    state = State.load(tmp_path / "whole")
    method = Gnn.method(state.best, "mine")
    found = measure(Gnn(), state.best, valid, CONFIG.batch)
    assert found["loss"] == pytest.approx(state.best_loss, rel=1e-5)
    for k in range(2):  # each shape is compiled
        node = valid[k].node
        scores = np.asarray(gnn_model.scores(state.best, join([node], [0], 1)))[: len(node.candidates)]
        np.testing.assert_allclose(method.score(node), scores, rtol=0, atol=1e-5 * np.abs(scores).max())
    assert accuracy.accuracy(method, valid) == pytest.approx({k: v for k, v in found.items() if k != "loss"})
    assert found["accuracy_1"] <= found["accuracy_3"] <= found["accuracy_10"] <= 1


def test_film_learns_and_becomes_machine_code(train, valid, tmp_path):
    config = CONFIG.model_copy(update={"epochs": 2})
    losses = [metrics["train_loss"] for _, metrics in epochs(Film(), train, valid, config, tmp_path)]
    assert losses[1] < losses[0]
    weights = State.load(tmp_path).best
    root = valid[0]
    scores = np.asarray(Film.scores(weights, Film.batch([root], 1)))[: len(root.best)]
    found = Film.method(weights, "mine").score(root.node)
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-5 * np.abs(scores).max())


def test_it_stops_early_and_lowers_its_rate(train, valid, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "_step", lambda weights, adam, *_: (weights, adam, 0.5))
    monkeypatch.setattr(learning, "measure", lambda *_: {"loss": 1.0})
    config = TrainingConfig(batch=8, steps=1, epochs=50, patience=2, stop=4)
    states = [state for state, _ in epochs(Gnn(), train, valid, config, tmp_path)]
    assert [state.idle for state in states] == [0, 1, 2, 3, 4], "the first epoch is progress"
    assert states[-1].rate == pytest.approx(0.04 * 1e-3)
    assert states[-1].best_loss == 1.0


def test_held_back_samples_are_of_other_instances_and_the_same(recorded):
    (few, held_back), (many, same) = (Samples.split(recorded.nodes, number, 8) for number in (8, 16))
    assert (len(few), len(many), len(held_back)) == (8, 16, 8)
    assert held_back == same
    used = {held_back.files[number] for number, _ in held_back.places}
    assert used.isdisjoint(many.files)
    assert few.record_s <= many.record_s


@pytest.mark.long
def test_the_flow_writes_a_method_and_shows_it(train_by_command, tmp_path):
    methods = [load_method(train_by_command()) for _ in range(2)]  # the second time nothing is left to do
    assert methods[0] == methods[1]
    assert methods[0].kind == "gnn"
    (store,) = tmp_path.glob("**/mlflow.db")
    mlflow.set_tracking_uri(f"sqlite:///{store}")
    client = mlflow.MlflowClient()
    experiments = [client.get_experiment_by_name("rivals").experiment_id]
    (run,) = client.search_runs(experiments)
    history = client.get_metric_history(run.info.run_id, "valid_accuracy_1")
    assert [metric.step for metric in history] == [1, 2]
    (first, *_) = mlflow.search_logged_models(experiments, output_format="list")
    model = mlflow.pyfunc.load_model(first.model_uri)
    assert {column.name for column in model.metadata.signature.inputs} >= {"variables", "rows", "candidates"}
