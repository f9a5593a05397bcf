"""Networks as methods: machine code against the network written plainly, and in SCIP."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import bife_core
from bife_core import NodeMethod
from bife_core.base.errors import RuleError
from bife_core.extend.testing import check_method
from bife_core.measure.decisions.nodes import load_nodes, save_nodes
from bife_core.measure.decisions.recorded import Decisions
from bife_rivals.graphs import Samples
from bife_rivals.networks import FilmMethod, GnnMethod
from bife_rivals.weights import FILM, GNN, NORMS, as_text

NETWORKS = Path(__file__).parents[1] / "networks"
GOLDEN = Path(__file__).parents[2] / "tests" / "data" / "golden" / "cauctions_0.mps.gz"


def some_weights(shapes, seed=0):
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
    for name, shape in NORMS.items():
        weights[name] = rng.uniform(0.1, 0.5, shape) if name.endswith("scale") else rng.normal(size=shape)
    return {name: array.astype(np.float32).astype(float) for name, array in weights.items()}


def test_the_root_of_a_sample_has_its_variables(recorded, tmp_path):
    file = recorded.nodes[0]
    decisions = Decisions.load(file.with_suffix("").with_suffix(".npz"))
    before, *after = load_nodes(file, decisions)
    decisions.save(tmp_path / "some.npz")
    save_nodes(tmp_path / "some.nodes.npz", [before, *(replace(x, variables=x.variables[1:]) for x in after)])
    samples = Samples.of([tmp_path / "some.nodes.npz"], 5)
    sizes = [len(samples[k].root.variables) for k in range(3)]
    assert sizes == [len(before.variables), *[len(before.variables) - 1] * 2], "a restart fixed a variable"


def relu(x):
    return np.maximum(x, 0)


def two_layers(w, name, x):
    hidden = relu(x @ w[f"{name}.1.weight"] + w[f"{name}.1.bias"])
    return relu(hidden @ w[f"{name}.2.weight"] + w[f"{name}.2.bias"])


def plain_embeddings(w, node):
    """The graph network as it is published, with its normalisations."""

    def convolved(place, rows, variables, owner, target):
        value = (node.edge_values[:, None] + w["norm.edges.shift"]) * w["norm.edges.scale"]
        message = rows[node.edge_rows] @ w[f"{place}.row.weight"] + w[f"{place}.row.bias"]
        message = message + value * w[f"{place}.edge.weight"]
        message = message + variables[node.edge_variables] @ w[f"{place}.variable.weight"]
        message = relu(message * w[f"norm.{place}.message.scale"])
        sums = np.zeros_like(target)
        np.add.at(sums, owner, message @ w[f"{place}.message.weight"] + w[f"{place}.message.bias"])
        sums = sums * w[f"norm.{place}.sum.scale"]
        return two_layers(w, place, np.concatenate([sums, target], axis=1))

    def embedded(side, x):
        return two_layers(w, side, (x + w[f"norm.{side}.shift"]) * w[f"norm.{side}.scale"])

    rows, variables = embedded("rows", node.rows), embedded("variables", node.variables)
    rows = convolved("to_rows", rows, variables, node.edge_rows, rows)
    return convolved("to_variables", rows, variables, node.edge_variables, variables)


def plain_scores(w, node):
    embedded = plain_embeddings(w, node)[node.candidates]
    return relu(embedded @ w["score.1.weight"] + w["score.1.bias"]) @ w["score.2.weight"][:, 0]


def plain_film(w, embedded, node):
    """The perceptron as it is published, with what the graph network made of the root."""
    own = embedded[node.candidates]
    normal = (own - own.mean(axis=1, keepdims=True)) / np.sqrt(own.var(axis=1, keepdims=True) + 1e-5)
    normal = normal * w["film.norm.scale"] + w["film.norm.bias"]
    factors = (normal @ w["film.weight"] + w["film.bias"]).reshape(len(own), 3, 2, 256)
    seen = np.concatenate([node.variables[node.candidates], node.features], axis=1)
    span = seen.max(axis=0) - seen.min(axis=0)
    x = 2 * (seen - seen.min(axis=0)) / np.where(span > 0, span, 1) - 1
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    for k in range(3):
        x = x @ w[f"mlp.{k + 1}.weight"] + w[f"mlp.{k + 1}.bias"]
        x = np.where(x > 0, x, 0.01 * x) * factors[:, k, 0] + factors[:, k, 1]
    return x @ w["mlp.out.weight"][:, 0]


@pytest.fixture(scope="module")
def nodes(recorded):
    file = recorded.nodes[0]
    return list(load_nodes(file, Decisions.load(file.with_suffix("").with_suffix(".npz"))))[:2]


def method(seed=0, **fields):
    return GnnMethod(weights=as_text(some_weights(GNN, seed)), **fields)


def agree(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert np.ptp(expected) > 1e-3 * np.abs(expected).max()


def test_machine_code_computes_what_the_plain_networks_do(nodes):
    for node in nodes:
        agree(method().score(node), plain_scores(some_weights(GNN), node))
    root, w = nodes[0], some_weights(FILM)
    film = FilmMethod(weights=as_text(w))
    agree(film.score(root), plain_film(w, plain_embeddings(w, root), root))
    with pytest.raises(ValueError, match="film must see the first node"):
        film.score(nodes[1])
    later = plain_film(w, plain_embeddings(w, root), nodes[1])
    np.testing.assert_allclose(film.score(nodes[1], root), later, rtol=0, atol=1e-5 * np.abs(later).max())


class Slow(GnnMethod):
    """The same, called from Python."""

    @property
    def address(self):
        return 0


def counts(method, node_limit):
    found = bife_core.solve(GOLDEN, method, solver="paper", node_limit=node_limit)
    assert found.fallbacks == 0 < found.rule_s
    return found.calls, found.candidates, found.nodes, found.lp_iterations


def test_it_branches_in_scip_as_it_scores():
    assert counts(method(), 30) == counts(Slow(weights=method().weights), 30)


class PlainFilm(NodeMethod):
    """FiLM in Python; it keeps the root's embeddings as long as the class is there."""

    kind: Literal["plain_film"] = "plain_film"
    name: str = "plain"
    roots: ClassVar[list[Any]] = []
    graph: ClassVar[Any] = "first"
    features: ClassVar[Any] = None

    def score(self, node):
        w = some_weights(FILM)
        if node.first:
            self.roots.append(plain_embeddings(w, node))
        return plain_film(w, self.roots[-1], node)


def test_film_remembers_the_root_in_scip():
    film = FilmMethod(weights=as_text(some_weights(FILM)))
    assert counts(film, 20) == counts(PlainFilm(), 20)
    assert len(PlainFilm.roots) == 1


def test_it_is_a_value_and_a_file(tmp_path):
    check_method(method())
    assert method().identity == method(name="other").identity
    assert method().identity != method(1).identity
    known = method(about={"samples": 1000, "record_s": 300, "train_s": 60})
    assert method().identity == known.identity
    (tmp_path / "mine.json").write_text(method().text)
    assert bife_core.load_method(tmp_path / "mine.json") == method()
    with pytest.raises(RuleError, match="gnn needs more than its name"):
        bife_core.load_method("gnn")
    for wrong in ("no base 64", as_text({"rows.1.weight": np.zeros((5, 64))})):
        (tmp_path / "wrong.json").write_text(json.dumps({"kind": "gnn", "weights": wrong}))
        with pytest.raises(RuleError, match=r"no safetensors file|have other arrays: .*norm.edges.scale"):
            bife_core.load_method(tmp_path / "wrong.json")


@pytest.mark.parametrize("path", sorted(NETWORKS.glob("*.json")), ids=lambda path: path.stem)
def test_the_trained_networks_score(path, nodes):
    network = bife_core.load_method(path)
    assert isinstance(network, NodeMethod)
    assert network.text == path.read_text()
    assert np.ptp(network.score(nodes[0])) > 0.1
