"""FiLM (Gupta et al., NeurIPS 2020): a graph network at the root, and a modulated multilayer perceptron at every node.

The network of `gnn_model` embeds every variable once, at the first node of a solve. A linear layer makes of each
embedding factors and shifts for the three hidden layers of a perceptron, which scores candidates by 92 numbers at
every node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bife_rivals import gnn_model
from bife_rivals.gnn_model import Weights, layer
from bife_rivals.graphs import Graph, Sample, join, joined
from bife_rivals.networks import FilmMethod
from bife_rivals.weights import FILM, HIDDEN, LAYERS, NORMS, SLOPE, as_text, scaled_inputs


class FilmBatch(NamedTuple):
    """The roots of samples with the samples' candidates, and what the perceptron sees of each, (c, 92)."""

    root: Graph
    inputs: Any
    graph: Any
    taken: Any
    n_graphs: Any


class Film:
    """A `Network` without a state of its own; roots and nodes are trained together."""

    @staticmethod
    def initial(seed: int) -> Weights:
        """Return orthogonal weights and biases of 0."""
        return gnn_model.initial(seed, FILM | NORMS)

    @staticmethod
    def fitted(weights: Weights, batches: list[FilmBatch]) -> Weights:
        """Return the weights with the normalisations fitted to the roots."""
        return gnn_model.fitted(weights, [batch.root for batch in batches])

    @staticmethod
    def batch(samples: Sequence[Sample], size: int) -> FilmBatch:
        """Return samples as one graph of roots, and their candidates' inputs."""
        roots = [replace(sample.root, candidates=sample.node.candidates) for sample in samples]
        root = join(roots, [sample.taken for sample in samples], size)
        inputs = joined([scaled_inputs(sample.node) for sample in samples], len(root.candidates))
        return FilmBatch(root, inputs, root.graph, root.taken, root.n_graphs)

    @staticmethod
    def scores(weights: Weights, batch: FilmBatch) -> Any:
        """Return a score per candidate."""
        embedded = gnn_model.embeddings(weights, batch.root)
        mean = embedded.mean(axis=1, keepdims=True)
        variance = embedded.var(axis=1, keepdims=True)
        normal = (embedded - mean) / jnp.sqrt(variance + 1e-5)
        normal = normal * weights["film.norm.scale"] + weights["film.norm.bias"]
        factors = layer(weights, "film", normal).reshape(-1, LAYERS, 2, HIDDEN)
        x = batch.inputs
        for k in range(LAYERS):
            x = jax.nn.leaky_relu(layer(weights, f"mlp.{k + 1}", x), SLOPE)
            x = x * factors[:, k, 0] + factors[:, k, 1]
        return (x @ weights["mlp.out.weight"])[:, 0]

    @staticmethod
    def method(weights: Weights, name: str) -> FilmMethod:
        """Return the network as a method."""
        return FilmMethod(name=name, weights=as_text(weights))
