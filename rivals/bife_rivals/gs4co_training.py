"""One training run of GS4CO: Symb4CO's, with other expressions, nodes as samples, and a small transformer in JAX.

The transformer reads the tokens so far, each with its place in the tree and that of what follows, and gives the logits
of what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bife_core import Decisions
from bife_core.extend import nodes_of
from bife_rivals.graph_rule import GraphRule
from bife_rivals.gs4co_grammar import LEVELS, GraphGrammar, GraphWalk
from bife_rivals.gs4co_samples import GraphSamples
from bife_rivals.symb4co_grammar import Floats, Integers
from bife_rivals.symb4co_policy import Batch, Objective
from bife_rivals.symb4co_training import Run, Training

LAYERS: Final = 4
HEADS: Final = 4
_ADAM: Final = optax.scale_by_adam()
Weights = dict[str, Any]


@dataclass(frozen=True)
class GraphBatch(Batch):
    """Expressions, padded to the longest there may be, with what is known of each of their tokens.

    `places` are the places in the tree, `added` what was added to the logits.
    """

    places: Floats
    added: Floats

    def __getitem__(self, rows: Integers) -> GraphBatch:
        return GraphBatch(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


class GraphPolicy:
    """The network and its moments for Adam; it has what `bife_rivals.symb4co_policy.Policy` has."""

    def __init__(self, grammar: GraphGrammar, width: int, rng: np.random.Generator) -> None:
        self.grammar, self.width = grammar, width

        def drawn(*shape: int) -> Any:
            return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[-2]), jnp.float32)

        self.parameters: Weights = {
            # The last one: none yet.
            "token": np.sqrt(grammar.tokens / width) * drawn(grammar.tokens + 1, width),
            "here": drawn(2 * LEVELS, width),
            "next": drawn(2 * LEVELS, width),
            "ask": drawn(LAYERS, width, 3 * width),
            "mix": drawn(LAYERS, width, width),
            "up": drawn(LAYERS, width, 4 * width),
            "down": drawn(LAYERS, 4 * width, width),
            "head": 0.1 * drawn(width, grammar.tokens),
        }
        for name in ("ask", "mix", "up", "down", "head"):
            shape = self.parameters[name].shape
            self.parameters[f"{name} bias"] = jnp.zeros(shape[:-2] + shape[-1:])
        self.moments = tuple(
            {name: jnp.zeros_like(x) for name, x in self.parameters.items()} for _ in range(2)
        )
        self.updates = 0

    def sample(self, rng: np.random.Generator, count: int) -> GraphBatch:
        """Write so many expressions."""
        most, none = self.grammar.most, self.grammar.tokens
        walk, rows = GraphWalk(self.grammar, count), np.arange(count)
        tokens, lengths = np.zeros((count, most), dtype=np.int64), np.zeros(count, dtype=np.int64)
        places = np.zeros((count, most, 2 * LEVELS), dtype=np.float32)
        added = np.zeros((count, most, none), dtype=np.float32)
        log_probability, last, here = np.zeros(count), np.full(count, none), places[:, 0]
        memory = jnp.zeros((LAYERS, 2, count, most, HEADS, self.width // HEADS))
        for step in range(most):
            places[:, step], added[:, step] = walk.place, walk.added()
            seen = (ids[:, np.newaxis] for ids in (last, here, walk.place))
            logits, memory = _logits(self.parameters, *seen, step, memory)
            masked = np.asarray(logits[:, 0], dtype=np.float64) + added[:, step]
            logs = masked - masked.max(axis=1, keepdims=True)
            logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
            cumulated = np.cumsum(np.exp(logs), axis=1)
            last = np.argmax(cumulated > rng.random((count, 1)) * cumulated[:, -1:], axis=1)
            open_ = lengths == 0
            tokens[open_, step] = last[open_]
            log_probability += np.where(open_, logs[rows, last], 0.0)
            here = walk.place
            walk.add(last)
            lengths[open_ & (walk.missing == 0)] = step + 1
            if lengths.all():
                break
        return GraphBatch(tokens, lengths, log_probability, places, added)

    def update(self, batch: GraphBatch, advantages: Floats, objective: Objective, rate: float) -> None:
        """Change the parameters by one step of Adam."""
        taught = (batch.tokens, batch.lengths, batch.log_probability, batch.places, batch.added, advantages)
        before = (self.parameters, self.moments, self.updates)
        self.parameters, self.moments = _updated(*before, rate, taught, objective)
        self.updates += 1


def _normal(x: Any) -> Any:
    """Scale each vector to mean 0 and variance 1; the layer behind has factors and shifts of its own."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


@partial(jax.jit, donate_argnames="memory")
def _logits(w: Weights, last: Any, here: Any, following: Any, at: Any, memory: Any) -> tuple[Any, Any]:
    """Return the logits (n, t, tokens) of what follows t tokens, the first of them the one `at`, and the new memory."""
    x = w["token"][last] + here @ w["here"] + following @ w["next"]
    n, t, width = x.shape
    seen = jnp.arange(memory.shape[3]) <= at + jnp.arange(t)[:, None]

    def layer(x: Any, layer_input: tuple[Weights, Any]) -> tuple[Any, Any]:
        block, memory = layer_input
        heads = (_normal(x) @ block["ask"] + block["ask bias"]).reshape(n, t, 3, HEADS, width // HEADS)
        memory = jax.lax.dynamic_update_slice(memory, jnp.moveaxis(heads[:, :, 1:], 2, 0), (0, 0, at, 0, 0))
        match = jnp.einsum("nqhd,nkhd->nhqk", heads[:, :, 0], memory[0]) / np.sqrt(width // HEADS)
        share = jax.nn.softmax(jnp.where(seen, match, -1e9), axis=-1)
        mixed = jnp.einsum("nhqk,nkhd->nqhd", share, memory[1]).reshape(n, t, width)
        x = x + mixed @ block["mix"] + block["mix bias"]
        up = jax.nn.relu(_normal(x) @ block["up"] + block["up bias"])
        return x + up @ block["down"] + block["down bias"], memory

    layers = {name: value for name, value in w.items() if name.split()[0] in ("ask", "mix", "up", "down")}
    x, memory = jax.lax.scan(layer, x, (layers, memory))
    return _normal(x) @ w["head"] + w["head bias"], memory


def loss(w: Weights, taught: tuple[Any, ...], objective: Objective) -> Any:
    """Return the negative of the objective for the five parts of a batch and the advantages."""
    tokens, lengths, before, places, added, advantages = taught
    n, steps = tokens.shape
    last = jnp.concatenate([jnp.full((n, 1), added.shape[2]), tokens[:, :-1]], axis=1)
    here = jnp.concatenate([jnp.zeros_like(places[:, :1]), places[:, :-1]], axis=1)
    memory = jnp.zeros((LAYERS, 2, n, steps, HEADS, w["mix"].shape[-1] // HEADS))
    logits, _ = _logits(w, last, here, places, 0, memory)
    logs = jax.nn.log_softmax(logits + added)
    within = jnp.arange(steps) < lengths[:, None]
    chosen = jnp.take_along_axis(logs, tokens[:, :, None], axis=2)[:, :, 0]
    ratio = jnp.exp(jnp.where(within, chosen, 0.0).sum(axis=1) - before)
    clipped = jnp.clip(ratio, 1.0 - objective.clip, 1.0 + objective.clip)
    entropies = -(jnp.exp(logs) * logs).sum(axis=2)
    weight = objective.entropy * objective.entropy_decay ** jnp.arange(steps) * within
    gains = jnp.minimum(ratio * advantages, clipped * advantages)
    return -(gains + (weight * entropies).sum(axis=1)).mean()


@partial(jax.jit, static_argnames="objective")
def _updated(
    w: Weights, moments: Any, count: Any, rate: Any, taught: tuple[Any, ...], objective: Objective
) -> tuple[Weights, Any]:
    """Return parameters and moments after one more update than `count`."""
    slope = jax.grad(loss)(w, taught, objective)
    steps, adam = _ADAM.update(slope, optax.ScaleByAdamState(count, *moments))
    return {name: w[name] - rate * steps[name] for name in w}, (adam.mu, adam.nu)


class GraphTraining(Training):
    """A run of GS4CO under way; its samples' nodes are those of a file of merged decisions."""

    search: ClassVar[str] = "gs4co"
    expressions = GraphGrammar
    network = GraphPolicy

    def __init__(self, run: Run, path: Path) -> None:
        super().__init__(run, Decisions.load(path))
        self._path = path

    def samples(self) -> Callable[[Decisions], GraphSamples]:
        """Return what is called with one part of the decisions after the other."""
        nodes = nodes_of(self._path)
        return lambda part: GraphSamples(part, list(islice(nodes, len(part))))

    def method(self, tokens: Sequence[int], depth: int | None) -> GraphRule:
        """Return an expression as a method."""
        return GraphRule(name="", formula=self.grammar.formula(tokens), depth=depth)
