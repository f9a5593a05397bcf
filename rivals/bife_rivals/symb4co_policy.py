"""The network that writes Symb4CO's expressions, in NumPy, and its training by risk-seeking policy gradient.

Two LSTM layers with a projection, read a token's parent and sibling and give the logits of what follows. Gradients are
written out by hand; the tests compare them with differences. A batch is small and a step has to wait for the one
before, so that a framework for large networks would save little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from bife_rivals.symb4co_grammar import Floats, Grammar, Integers, Truths, Walk

LAYERS: Final = 2
Parameters = dict[str, npt.NDArray[np.floating]]
State = list[tuple[Floats, Floats]]
"""Output and cell of each layer."""


@dataclass(frozen=True)
class Batch:
    """Expressions, one row each; tokens behind the end are 0, and `log_probability` is that of the whole."""

    tokens: Integers
    lengths: Integers
    log_probability: Floats

    def __getitem__(self, rows: Integers) -> Batch:
        lengths = self.lengths[rows]
        return Batch(self.tokens[rows, : lengths.max()], lengths, self.log_probability[rows])

    def expression(self, row: int) -> list[int]:
        """Return the tokens of an expression."""
        return [int(token) for token in self.tokens[row, : self.lengths[row]]]


@dataclass(frozen=True)
class Objective:
    """What an update maximises: clipped ratios times advantages, plus entropy that counts less token by token."""

    clip: float = 0.2
    entropy: float = 0.05
    entropy_decay: float = 0.9


class _Tape(NamedTuple):
    """What one step leaves for its gradient."""

    parent: Integers
    sibling: Integers
    layers: list[tuple[Floats, ...]]


class Policy:
    """The network and its moments for Adam."""

    def __init__(
        self, grammar: Grammar, hidden: int, rng: np.random.Generator, number: npt.DTypeLike = np.float32
    ) -> None:
        self.grammar, self.hidden = grammar, hidden
        bound, tokens = 1.0 / np.sqrt(hidden), grammar.tokens

        def drawn(*shape: int) -> npt.NDArray[np.floating]:
            return rng.uniform(-bound, bound, shape).astype(number)

        gates = 4 * hidden
        self.parameters: Parameters = {
            # One row more, for no parent and no sibling.
            "parent": drawn(tokens + 1, gates),
            "sibling": drawn(tokens + 1, gates),
        }
        for layer in range(LAYERS):
            shapes = {"recurrent": (tokens, gates), "bias": (gates,), "projection": (hidden, tokens)}
            shapes |= {"output": (tokens,), "cell": (hidden,)} | ({"input": (tokens, gates)} if layer else {})
            self.parameters |= {f"{name}{layer}": drawn(*shape) for name, shape in shapes.items()}
        self.moments: tuple[Parameters, Parameters] = (self._zeros(), self._zeros())
        self.updates = 0

    def _zeros(self) -> Parameters:
        return {name: np.zeros_like(value) for name, value in self.parameters.items()}

    def sample(self, rng: np.random.Generator, count: int) -> Batch:
        """Write so many expressions."""
        grammar = self.grammar
        walk, active = Walk(grammar, count), np.arange(count)
        tokens = np.zeros((count, grammar.most), dtype=np.int64)
        lengths, log_probability = np.zeros(count, dtype=np.int64), np.zeros(count)
        state = self._begin(count)
        while len(active):
            logits, state, _ = self._step(walk, state)
            _, logs = _distribution(logits, grammar.prior(walk.length), walk.allowed())
            cumulated = np.cumsum(np.exp(logs), axis=1)
            level = rng.random(len(active)) * cumulated[:, -1]
            drawn = np.argmax(cumulated > level[:, np.newaxis], axis=1)
            tokens[active, walk.length] = drawn
            log_probability[active] += logs[np.arange(len(active)), drawn]
            walk.add(drawn)
            lengths[active] = walk.length
            kept = np.flatnonzero(walk.missing > 0)
            if len(kept) < len(active):
                walk.keep(kept)
                active, state = active[kept], [(output[kept], cell[kept]) for output, cell in state]
        return Batch(tokens[:, : lengths.max()], lengths, log_probability)

    def update(self, batch: Batch, advantages: Floats, objective: Objective, rate: float) -> None:
        """Change the parameters by one step of Adam."""
        _, gradient = self.gradient(batch, advantages, objective)
        self.updates += 1
        first, second = self.moments
        for name, slope in gradient.items():
            first[name] += 0.1 * (slope - first[name])
            second[name] += 0.001 * (slope * slope - second[name])
            mean = first[name] / (1.0 - 0.9**self.updates)
            square = second[name] / (1.0 - 0.999**self.updates)
            self.parameters[name] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(slope.dtype)

    def gradient(self, batch: Batch, advantages: Floats, objective: Objective) -> tuple[float, Parameters]:
        """Return the negative of the objective, and its gradient."""
        count, steps = batch.tokens.shape
        rows = np.arange(count)
        walk, state = Walk(self.grammar, count), self._begin(count)
        tapes, chances, all_logs = [], [], []
        for step in range(steps):
            logits, state, tape = self._step(walk, state)
            share, logs = _distribution(logits, self.grammar.prior(step), walk.allowed())
            tapes.append(tape)
            chances.append(share)
            all_logs.append(logs)
            walk.add(batch.tokens[:, step])
        within = np.arange(steps)[:, np.newaxis] < batch.lengths
        chosen = np.array([logs[rows, batch.tokens[:, step]] for step, logs in enumerate(all_logs)])
        entropies = np.array(
            [-(share * _finite(logs)).sum(axis=1) for share, logs in zip(chances, all_logs, strict=True)]
        )
        ratio = np.exp(np.where(within, chosen, 0.0).sum(axis=0) - batch.log_probability)
        clipped = np.clip(ratio, 1.0 - objective.clip, 1.0 + objective.clip)
        gains = np.minimum(ratio * advantages, clipped * advantages)
        weight = objective.entropy * objective.entropy_decay ** np.arange(steps)[:, np.newaxis] * within
        loss = -(gains + (weight * entropies).sum(axis=0)).mean()

        # Where the clipped ratio is the smaller one, the gain does not change with the parameters.
        pull = np.where(ratio * advantages <= clipped * advantages, ratio * advantages, 0.0) / count
        gradient = self._zeros()
        later: State = [(np.zeros_like(output), np.zeros_like(cell)) for output, cell in state]
        for step in reversed(range(steps)):
            share, logs = chances[step], all_logs[step]
            slope = (pull * within[step])[:, np.newaxis] * share
            slope[rows, batch.tokens[:, step]] -= pull * within[step]
            spread = share * (_finite(logs) + entropies[step][:, np.newaxis])
            slope += (weight[step] / count)[:, np.newaxis] * spread
            later = self._back(tapes[step], slope.astype(self.parameters["bias0"].dtype), later, gradient)
        for layer, (output, cell) in enumerate(later):
            gradient[f"output{layer}"] += output.sum(axis=0)
            gradient[f"cell{layer}"] += cell.sum(axis=0)
        return float(loss), gradient

    def _begin(self, count: int) -> State:
        """Return the state before the first token."""
        weights = self.parameters
        return [
            (np.tile(weights[f"output{layer}"], (count, 1)), np.tile(weights[f"cell{layer}"], (count, 1)))
            for layer in range(LAYERS)
        ]

    def _step(self, walk: Walk, state: State) -> tuple[Floats, State, _Tape]:
        """Return logits, the new state, and what the way back needs."""
        weights, size = self.parameters, self.hidden
        fed: Floats = weights["parent"][walk.parent] + weights["sibling"][walk.sibling]
        after: State = []
        layers: list[tuple[Floats, ...]] = []
        for layer, (output, cell) in enumerate(state):
            below = after[-1][0] if layer else output
            if layer:
                fed = below @ weights[f"input{layer}"]
            z: Floats = fed + output @ weights[f"recurrent{layer}"] + weights[f"bias{layer}"]
            z[:, : 2 * size] = expit(z[:, : 2 * size])
            z[:, 2 * size : 3 * size] = np.tanh(z[:, 2 * size : 3 * size])
            z[:, 3 * size :] = expit(z[:, 3 * size :])
            into, kept, new, shown = (z[:, part * size : (part + 1) * size] for part in range(4))
            next_cell = kept * cell + into * new
            squashed = np.tanh(next_cell)
            next_output = (shown * squashed) @ weights[f"projection{layer}"]
            layers.append((below, output, cell, into, kept, new, shown, squashed))
            after.append((next_output, next_cell))
        return after[-1][0], after, _Tape(walk.parent, walk.sibling, layers)

    def _back(self, tape: _Tape, slope: Floats, later: State, gradient: Parameters) -> State:
        """Add the gradient of one step, and return that of the state before it."""
        weights = self.parameters
        before: State = []
        for layer in reversed(range(LAYERS)):
            below, output, cell, into, kept, new, shown, squashed = tape.layers[layer]
            from_output = later[layer][0] + slope
            gradient[f"projection{layer}"] += (shown * squashed).T @ from_output
            of_shown = from_output @ weights[f"projection{layer}"].T
            of_cell = later[layer][1] + of_shown * shown * (1.0 - squashed**2)
            z = np.concatenate(
                [
                    of_cell * new * into * (1.0 - into),
                    of_cell * cell * kept * (1.0 - kept),
                    of_cell * into * (1.0 - new**2),
                    of_shown * squashed * shown * (1.0 - shown),
                ],
                axis=1,
            )
            gradient[f"recurrent{layer}"] += output.T @ z
            gradient[f"bias{layer}"] += z.sum(axis=0)
            before.insert(0, (z @ weights[f"recurrent{layer}"].T, of_cell * kept))
            if layer:
                gradient[f"input{layer}"] += below.T @ z
                slope = z @ weights[f"input{layer}"].T
            else:
                np.add.at(gradient["parent"], tape.parent, z)
                np.add.at(gradient["sibling"], tape.sibling, z)
        return before


def _distribution(logits: Floats, prior: Floats, allowed: Truths) -> tuple[Floats, Floats]:
    """Return the probability of each token and its logarithm, minus infinity for what is not allowed."""
    masked = np.where(allowed, logits + prior, -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    logs = masked - np.log(np.exp(masked).sum(axis=1, keepdims=True))
    return np.exp(logs), logs


def _finite(logs: Floats) -> Floats:
    return np.where(np.isfinite(logs), logs, 0.0)
