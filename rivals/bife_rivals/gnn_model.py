"""The graph network of Gasse et al. (NeurIPS 2019) in JAX: how it is initialised, fitted to its inputs, and evaluated.

Rows and variables are embedded by two layers each. One half-convolution takes variables to rows, a second one rows to
variables, and two layers give a score per variable. Affine normalisations before the layers and after the sums are
fitted to samples once, before training, and stay as they are; those of the second convolution to messages to
candidates, the only variables that are scored. In a convolution the last layer of a message is linear and so is the
sum over edges: it is applied to the sums, once a vertex instead of once an edge.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from bife_rivals.graphs import Graph
from bife_rivals.weights import GNN, NORMS, Shapes

Weights = dict[str, Any]
"""Arrays by name; those whose names begin with ``norm.`` are not trained."""

STAGES: Final = (
    {"norm.rows": "rows", "norm.edges": "edges", "norm.variables": "variables"},
    {"norm.to_rows.message": "edges"},
    {"norm.to_rows.sum": "rows"},
    {"norm.to_variables.message": "near"},
    {"norm.to_variables.sum": "candidates"},
)
"""Normalisations with what each sees, in the order in which they are fitted: each sees what the earlier ones give."""


def initial(seed: int, shapes: Shapes = GNN | NORMS) -> Weights:
    """Return orthogonal weights, biases of 0, and normalisations that change nothing."""
    key = jax.random.key(seed)
    orthogonal = jax.nn.initializers.orthogonal()
    weights: Weights = {}
    for name, shape in shapes.items():
        key, drawn_by = jax.random.split(key)
        if name.endswith(".weight"):
            weights[name] = orthogonal(drawn_by, shape)
        else:
            weights[name] = jnp.ones(shape) if name.endswith(".scale") else jnp.zeros(shape)
    return weights


def layer(weights: Weights, name: str, x: Any) -> Any:
    """Return a linear layer's output."""
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _scaled(weights: Weights, name: str, x: Any, seen: dict[str, Any]) -> Any:
    """Normalise, and note what came in."""
    seen[name] = x
    shift = weights.get(f"{name}.shift", 0.0)
    return (x + shift) * weights[f"{name}.scale"]


def _embedded(weights: Weights, side: str, x: Any, seen: dict[str, Any]) -> Any:
    x = _scaled(weights, f"norm.{side}", x, seen)
    return jax.nn.relu(layer(weights, f"{side}.2", jax.nn.relu(layer(weights, f"{side}.1", x))))


def _convolved(
    weights: Weights, place: str, messages: tuple[Any, ...], owner: Any, target: Any, seen: dict[str, Any]
) -> Any:
    """Return the target after a half-convolution: `messages` are what rows, edges and variables add to each message."""
    x = jax.nn.relu(_scaled(weights, f"norm.{place}.message", sum(messages), seen))
    sums = jax.ops.segment_sum(x, owner, len(target))
    degree = jax.ops.segment_sum(jnp.ones(len(owner), sums.dtype), owner, len(target))
    sums = sums @ weights[f"{place}.message.weight"] + degree[:, None] * weights[f"{place}.message.bias"]
    sums = _scaled(weights, f"norm.{place}.sum", sums, seen)
    both = jnp.concatenate([sums, target], axis=1)
    return jax.nn.relu(layer(weights, f"{place}.2", jax.nn.relu(layer(weights, f"{place}.1", both))))


def embeddings(weights: Weights, graph: Graph, seen: dict[str, Any] | None = None) -> Any:
    """Return what the convolutions make of each candidate, (c, `SIZE`); `seen` is given what each normalisation saw."""
    seen = {} if seen is None else seen
    rows = _embedded(weights, "rows", graph.rows, seen)
    variables = _embedded(weights, "variables", graph.variables, seen)
    edges = _scaled(weights, "norm.edges", graph.edge_values[:, None], seen)
    near = (graph.near_values[:, None] + weights["norm.edges.shift"]) * weights["norm.edges.scale"]
    messages = (
        layer(weights, "to_rows.row", rows)[graph.edge_rows],
        edges * weights["to_rows.edge.weight"],
        (variables @ weights["to_rows.variable.weight"])[graph.edge_variables],
    )
    rows = _convolved(weights, "to_rows", messages, graph.edge_rows, rows, seen)
    candidates = variables[graph.candidates]
    messages = (
        layer(weights, "to_variables.row", rows)[graph.near_rows],
        near * weights["to_variables.edge.weight"],
        (candidates @ weights["to_variables.variable.weight"])[graph.near_candidates],
    )
    return _convolved(weights, "to_variables", messages, graph.near_candidates, candidates, seen)


def scores(weights: Weights, graph: Graph) -> Any:
    """Return a score per candidate."""
    hidden = jax.nn.relu(layer(weights, "score.1", embeddings(weights, graph)))
    return (hidden @ weights["score.2.weight"])[:, 0]


@partial(jax.jit, static_argnames="stage")
def _moments(weights: Weights, graph: Graph, stage: int) -> dict[str, tuple[Any, Any, Any]]:
    """Return how many numbers each normalisation of a stage saw, with their mean and variance."""
    seen: dict[str, Any] = {}
    embeddings(weights, graph, seen)
    moments = {}
    for name, what in STAGES[stage].items():
        x = seen[name]
        count = getattr(graph, f"n_{what}")  # padding is behind
        mask = (jnp.arange(len(x)) < count)[:, None]
        axes = (0, 1) if weights[f"{name}.scale"].shape == (1,) else (0,)
        n = count * (x.shape[1] if len(axes) == 2 else 1)
        mean = jnp.sum(jnp.where(mask, x, 0.0), axis=axes) / n
        variance = jnp.sum(jnp.where(mask, (x - mean) ** 2, 0.0), axis=axes) / n
        moments[name] = (n, mean, variance)
    return moments


def fitted(weights: Weights, graphs: list[Graph]) -> Weights:
    """Return the network with its normalisations fitted: to mean 0 where they shift, and to variance 1."""
    for stage, names in enumerate(STAGES):
        parts = [_moments(weights, graph, stage) for graph in graphs]
        for name in names:
            n, mean, variance = (
                np.array([np.asarray(part[name][k], dtype=np.float64).reshape(-1) for part in parts])
                for k in range(3)
            )
            share = n / n.sum()
            middle = (share * mean).sum(axis=0)
            spread = (share * (variance + (mean - middle) ** 2)).sum(axis=0)
            # What is constant has a variance of rounding errors.
            varies = spread > 1e-9 * middle**2
            weights = weights | {f"{name}.scale": _array(1.0 / np.sqrt(np.where(varies, spread, 1.0)))}
            if f"{name}.shift" in weights:
                weights |= {f"{name}.shift": _array(-middle)}
    return weights


def _array(x: npt.NDArray[np.float64]) -> Any:
    return jnp.asarray(x.reshape(-1), dtype=jnp.float32)
