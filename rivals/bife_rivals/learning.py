"""Imitation learning of networks: epochs that can be resumed, early stopping, accuracy, and weights as text.

The published protocol: cross entropy on the candidate the expert branched on, Adam, a learning rate that falls to a
fifth after `patience` epochs without progress on held-back samples, and an end after `stop` of them.
"""

from __future__ import annotations

import json
import time
import timeit
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from pydantic import Field
from safetensors.numpy import load, save

from bife_core import load_method
from bife_core.extend import Value, write_whole
from bife_rivals.gnn_model import Weights
from bife_rivals.graphs import RANKS, Sample, Samples, accuracies, hits
from bife_rivals.networks import NetworkMethod

STATE: Final = "state.safetensors"
"""What a training writes after every epoch, and goes on from."""

CLOCK: Final = "train_s"
"""Seconds of the clock that the epochs of a training took, killed ones left out."""

_adam = optax.scale_by_adam()


class Network(Protocol):
    """What is trained. A batch has `graph` and `taken` as a `Graph` has, and ``n_graphs``."""

    def initial(self, seed: int) -> Weights: ...  # noqa: D102
    def fitted(self, weights: Weights, batches: list[Any]) -> Weights: ...  # noqa: D102
    def batch(self, samples: Sequence[Sample], size: int) -> Any: ...  # noqa: D102
    def scores(self, weights: Weights, batch: Any) -> Any: ...  # noqa: D102
    def method(self, weights: Weights, name: str) -> NetworkMethod: ...  # noqa: D102


class TrainingConfig(Value):
    """How a network is trained; the defaults are the published settings."""

    seed: int = 0
    batch: int = Field(32, ge=1, description="Samples of one step.")
    steps: int | None = Field(312, ge=1, description="Steps of an epoch; None goes through all samples once.")
    rate: float = Field(1e-3, gt=0, description="Learning rate to begin with.")
    patience: int = Field(10, ge=1, description="Epochs without progress until the rate is a fifth.")
    stop: int = Field(20, ge=1, description="Epochs without progress until the end.")
    epochs: int = Field(1000, ge=1, description="Epochs at most.")


@dataclass(frozen=True)
class State:
    """A training after some epochs."""

    weights: Weights
    best: Weights
    adam: Any
    epoch: int = 0
    rate: float = 1e-3
    best_loss: float = float("inf")
    idle: int = 0

    def save(self, folder: Path) -> None:
        """Write it at once or not at all."""
        parts = {"weights": self.weights, "best": self.best, "mu": self.adam.mu, "nu": self.adam.nu}
        flat = {
            f"{part}.{name}": np.ascontiguousarray(array)
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }
        about = {name: getattr(self, name) for name in ("epoch", "rate", "best_loss", "idle")}
        about["count"] = int(self.adam.count)
        flat["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        write_whole(folder / STATE, save(flat))

    @classmethod
    def load(cls, folder: Path) -> State:
        """Read what `save` wrote."""
        flat = load((folder / STATE).read_bytes())
        about = json.loads(flat.pop("about").tobytes())
        parts: dict[str, Weights] = {}
        for name, array in flat.items():
            part, _, field = name.partition(".")
            parts.setdefault(part, {})[field] = jnp.asarray(array)
        count = jnp.asarray(about.pop("count"), dtype=jnp.int32)
        adam = optax.ScaleByAdamState(count=count, mu=parts["mu"], nu=parts["nu"])
        return cls(weights=parts["weights"], best=parts["best"], adam=adam, **about)


Epoch = tuple[State, dict[str, float]]  # and what was measured


def trained_part(weights: Weights) -> Weights:
    """Return the weights that are trained."""
    return {name: array for name, array in weights.items() if not name.startswith("norm.")}


def log_softmax(scores: Any, batch: Any) -> Any:
    """Return the logarithm of each candidate's probability among the candidates of its graph."""
    graphs = len(batch.taken) + 1  # padding is a graph of its own
    highest = jax.lax.stop_gradient(jax.ops.segment_max(scores, batch.graph, graphs))
    shifted = scores - highest[batch.graph]
    total = jax.ops.segment_sum(jnp.exp(shifted), batch.graph, graphs)
    return shifted - jnp.log(jnp.maximum(total, 1e-30))[batch.graph]


@partial(jax.jit, static_argnames="network")
def _loss(trained: Weights, weights: Weights, batch: Any, network: Network) -> tuple[Any, Any]:
    """Return the mean cross entropy over the graphs of a batch, and the scores."""
    scores = network.scores(weights | trained, batch)
    losses = -log_softmax(scores, batch)[batch.taken]
    is_graph = jnp.arange(len(batch.taken)) < batch.n_graphs
    return jnp.sum(jnp.where(is_graph, losses, 0.0)) / batch.n_graphs, scores


@partial(jax.jit, static_argnames="network")
def _step(weights: Weights, adam: Any, rate: Any, batch: Any, network: Network) -> tuple[Weights, Any, Any]:
    trained = trained_part(weights)
    (loss, _), slope = jax.value_and_grad(_loss, has_aux=True)(trained, weights, batch, network)
    updates, adam = _adam.update(slope, adam)
    return weights | {name: trained[name] - rate * updates[name] for name in trained}, adam, loss


def batches(
    network: Network, samples: Samples, order: Sequence[int] | npt.NDArray[np.int64], size: int
) -> Iterator[tuple[list[Sample], Any]]:
    """Yield samples in an order of positions with their batch; the next is prepared while one is worked on."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque[tuple[list[Sample], Future[Any]]]()
        for begin in range(0, len(order), size):
            part = [samples[position] for position in order[begin : begin + size]]
            waiting.append((part, pool.submit(network.batch, part, size)))
            if len(waiting) > 3:  # batches prepared before they are needed
                drawn, batch = waiting.popleft()
                yield drawn, batch.result()
        for drawn, batch in waiting:
            yield drawn, batch.result()


def measure(network: Network, weights: Weights, samples: Samples, size: int = 32) -> dict[str, float]:
    """Return loss and accuracy: a prediction is right when one of its k highest candidates is a best one."""
    loss, right = 0.0, np.zeros(len(RANKS), np.int64)
    for drawn, batch in batches(network, samples, range(len(samples)), size):
        mean, scores = _loss(trained_part(weights), weights, batch, network)
        loss += float(mean) * len(drawn)
        ends = np.cumsum([len(sample.best) for sample in drawn])
        for sample, shown in zip(drawn, np.split(np.asarray(scores)[: ends[-1]], ends[:-1]), strict=True):
            right += hits(shown, sample.best)
    return {"loss": loss / len(samples)} | accuracies(right, len(samples))


def forward_us(network: Network, weights: Weights, sample: Sample) -> int:
    """Return the median microseconds of scoring a node on the device, with the copies to it and back."""
    batch, scores = network.batch([sample], 1), jax.jit(network.scores)
    times = timeit.repeat(lambda: np.asarray(scores(weights, batch)), number=1, repeat=200)
    return round(1e6 * float(np.median(times)))


def begin(network: Network, train: Samples, config: TrainingConfig) -> State:
    """Return the state before the first epoch: random weights, and normalisations fitted to samples."""
    weights = network.initial(config.seed)
    count = max(1, len(train) // 10)  # as published
    drawn = np.random.default_rng([config.seed, 0]).choice(len(train), count, replace=False)
    weights = network.fitted(weights, [batch for _, batch in batches(network, train, drawn, config.batch)])
    return State(weights, weights, _adam.init(trained_part(weights)), rate=config.rate)


def next_epoch(
    network: Network, state: State, train: Samples, valid: Samples, config: TrainingConfig
) -> Epoch:
    """Return the state after one more epoch, and what was measured.

    What is drawn depends on seed and number of the epoch alone, so a training that was killed goes on as it would have.
    """
    rng = np.random.default_rng([config.seed, state.epoch + 1])
    n = len(train)
    order = rng.permutation(n) if config.steps is None else rng.integers(n, size=config.steps * config.batch)
    weights, adam, losses = state.weights, state.adam, []
    for _, batch in batches(network, train, order, config.batch):
        weights, adam, loss = _step(weights, adam, state.rate, batch, network)
        losses.append(float(loss))
    measured = measure(network, weights, valid, config.batch)
    better = measured["loss"] < state.best_loss
    idle = 0 if better else state.idle + 1
    after = replace(
        state,
        weights=weights,
        adam=adam,
        epoch=state.epoch + 1,
        idle=idle,
        rate=state.rate * (0.2 if idle and idle % config.patience == 0 else 1.0),
        best=weights if better else state.best,
        best_loss=measured["loss"] if better else state.best_loss,
    )
    metrics = {f"valid_{name}": value for name, value in measured.items()}
    return after, {"train_loss": float(np.mean(losses)), "rate": state.rate} | metrics


def epochs(
    network: Network, train: Samples, valid: Samples, config: TrainingConfig, folder: Path
) -> Iterator[Epoch]:
    """Train until early stopping or the last epoch, from where the state in `folder` is; yield after every epoch."""
    folder.mkdir(parents=True, exist_ok=True)
    state = State.load(folder) if (folder / STATE).exists() else begin(network, train, config)
    while state.epoch < config.epochs and state.idle < config.stop:
        state, metrics = next_epoch(network, state, train, valid, config)
        state.save(folder)
        yield state, metrics


def clocked(folder: Path, states: Iterator[Epoch]) -> Iterator[Epoch]:
    """Go through a training, and keep the seconds of the clock it took so far; killed epochs are left out."""
    began = time.perf_counter() - _clock(folder)
    for epoch in states:
        write_whole(folder / CLOCK, str(time.perf_counter() - began))
        yield epoch


def _clock(folder: Path) -> float:
    return float((folder / CLOCK).read_text()) if (folder / CLOCK).exists() else 0.0


def write_method(
    network: Network, state: State, folder: Path, facts: dict[str, Any]
) -> tuple[NetworkMethod, Path]:
    """Write the best network of a training as a method, which says what its training took and the facts given.

    One that is there of the same epochs stays, since what is timed again differs.
    """
    about = {"parameters": sum(array.size for array in trained_part(state.best).values())}
    about |= {"train_s": round(clock)} if (clock := _clock(folder)) else {}
    about |= {"device": jax.devices()[0].device_kind}
    rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in facts.items()}
    method = network.method(state.best, folder.name).model_copy(update={"about": about | rounded})
    file = folder / method.file_name
    written = load_method(file) if file.exists() else None
    if isinstance(written, NetworkMethod) and written.weights == method.weights:
        method = written if written.about.get(CLOCK) == about.get(CLOCK) else method
    write_whole(file, method.text)
    return method, file
