"""tMDP (Scavuzzo et al., NeurIPS 2022): the graph network trained by REINFORCE on the trees it makes.

An epoch solves some instances with candidates drawn from the network's softmax, and takes one step of Adam up the mean
of log-probability times return, with a bonus for entropy. Now and then the network branches greedily on validation
instances; the weights with the fewest nodes there are kept. What is drawn depends on seed and epoch alone, and what an
episode was like is on disk before it is used, so a training that was killed goes on to the same weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from pydantic import Field

from bife_core import BifeError, Method, SolveResult, SolveSettings, Store, load_method
from bife_core.extend import (
    RPB,
    ConfigError,
    Instance,
    Node,
    SolveJob,
    SolverConfig,
    Value,
    WorkerFailure,
    Workers,
    run_solves,
    write_whole,
)
from bife_rivals import gnn_model
from bife_rivals.gnn import Gnn
from bife_rivals.gnn_model import Weights
from bife_rivals.graphs import Graph, join
from bife_rivals.learning import STATE, Epoch, State, log_softmax, trained_part
from bife_rivals.tmdp_policy import SOLVE_SAMPLING, Credit, Episode, SamplingPolicy, returns
from bife_rivals.weights import as_text

DFS: Final = {f"nodeselection/dfs/{which}priority": 2**29 - 1 for which in ("std", "memsave")}
"""SCIP's parameters that make node selection depth-first."""

EPISODES: Final = "episodes"
"""Folder of the episodes of an epoch; of rejected ones the reasons stay."""

_UNFINISHED: Final = 10
"""Nodes of a validation solve that is cut off at its time limit count this often."""

_adam = optax.scale_by_adam()


class TmdpConfig(Value):
    """How tMDP is trained; the defaults are published."""

    seed: int = 0
    credit: Credit = Field("tree", description="'tree': the subtree of a node; 'temporal': all later nodes.")
    dfs: bool = Field(False, description="Whether episodes select nodes depth-first.")
    objective_limit: bool = Field(False, description="Whether episodes begin with the optimum as a bound.")
    rate: float = Field(1e-6, gt=0, description="Learning rate of Adam.")
    entropy: float = Field(1e-5, ge=0, description="Weight of the entropy.")
    episodes: int = Field(10, ge=1, description="Episodes of an epoch.")
    share: float = Field(0.05, gt=0, le=1, description="Share of the branchings that are learnt from.")
    batch: int = Field(16, ge=1, description="Nodes that go through the network at once.")
    epochs: int = Field(15_000, ge=1, description="Epochs in all.")
    steps: int = Field(50_000, ge=1, description="Branchings beyond which an episode is rejected.")
    time_limit_s: float = Field(4000.0, gt=0, description="CPU seconds of a solve.")
    train: int = Field(10_000, ge=1, description="Instances that episodes are drawn from.")
    valid: int = Field(20, ge=1, description="Validation instances.")
    valid_seeds: int = Field(5, ge=1, description="Seeds of SCIP that each of them is solved with.")
    validate_every: int = Field(50, ge=1, description="Epochs between validations.")


MODES: Final[Mapping[str, dict[str, Any]]] = {
    "dfs": {"dfs": True},
    "objective_limit": {"objective_limit": True},
    "mdp": {"credit": "temporal"},
}
"""The published modes: tMDP+DFS, tMDP+ObjLim and MDP."""

PRESETS: Final[Mapping[str, dict[str, Any]]] = {
    "smoke": {
        **{"rate": 1e-3, "share": 1.0, "episodes": 2, "epochs": 2, "steps": 2000, "time_limit_s": 60.0},
        **{"train": 2, "valid": 1, "valid_seeds": 1, "validate_every": 1},
    },
    "quick": {
        **{"rate": 1e-3, "share": 0.5, "epochs": 20, "steps": 1000, "time_limit_s": 60.0},
        **{"train": 100, "valid": 5, "valid_seeds": 2, "validate_every": 5},
    },
    "paper": {},
}


Transition = tuple[Node, int, float]
"""A node, the position of the candidate that was taken, and what that led to."""


@dataclass(frozen=True)
class World:
    """What is trained on, and where solves run; those of `sampling` write files, which others may not."""

    config: TmdpConfig
    train: Sequence[Instance]
    valid: Sequence[Instance]
    solver: SolverConfig
    folder: Path
    store: Store
    sampling: Workers
    solving: Workers
    note: Callable[[str], None]

    def job(self, instance: Instance, method: Method, seed: int, **params: Any) -> SolveJob:
        """Return a solve; `params` are SCIP's."""
        limit_s = self.config.time_limit_s
        settings = SolveSettings(solver=self.solver, time_limit_s=limit_s, seed=seed, params=params)
        return SolveJob(instance=instance, method=method, settings=settings)

    def results(self, jobs: Sequence[SolveJob]) -> list[SolveResult]:
        """Do solves, or find them in the store; a `BifeError` says which one failed."""
        solved = run_solves([[job] for job in jobs], self.store, self.solving, note=self.note)
        for solve in solved:
            if solve.failure:
                raise BifeError(f"{solve.method} failed on {solve.job.instance.name}: {solve.failure}")
        return [solve.result for solve in solved if solve.result]


def _outcome(future: Future[Any], instance: str, config: TmdpConfig) -> dict[str, Any]:
    """Return the nodes of an episode, or why it is rejected."""
    try:
        result = SolveResult.model_validate(future.result())
    except WorkerFailure as failure:
        if failure.kind != "timeout":  # a lost worker or an error says nothing about the episode
            raise
        return {"rejected": f"{instance}: {failure}"}
    if result.finished:
        return {"nodes": result.nodes}
    limits = f"{config.steps} branchings and {config.time_limit_s:g} s"
    return {"rejected": f"{instance} ended with {result.status}: an episode has at most {limits}."}


def sample(world: World, weights: Weights, epoch: int) -> tuple[list[Transition], dict[str, float]]:
    """Return the transitions of an epoch's episodes, those on disk included, and what is known of the episodes."""
    config = world.config
    common: Any = {"weights": as_text(weights), "share": config.share, "steps": config.steps}
    rng = np.random.default_rng([config.seed, epoch])
    drawn = [world.train[k] for k in rng.integers(len(world.train), size=config.episodes)]
    seeds = rng.integers(2**31, size=config.episodes).tolist()
    folder = world.folder / EPISODES
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{epoch:05d}-{k:02d}.json" for k in range(config.episodes)]
    left = [k for k, file in enumerate(files) if not file.exists()]
    bounds: Sequence[float | None] = [None] * len(left)
    if config.objective_limit:
        jobs = [world.job(drawn[k], load_method(RPB), 0) for k in left]
        bounds = [result.primal_bound for result in world.results(jobs)]
    futures: dict[Future[Any], int] = {}
    for k, bound in zip(left, bounds, strict=True):
        file, seed = files[k].with_suffix(".safetensors"), (config.seed, epoch, 1 + k)
        policy = SamplingPolicy(**common, file=file, seed=seed, optimum=bound)
        job = world.job(drawn[k], policy, seeds[k], **(DFS if config.dfs else {}))
        limits: Any = {"limit_s": job.limit_s, "reads": [drawn[k].path], "writes": [folder]}
        futures[world.sampling.submit(SOLVE_SAMPLING, job.model_dump(mode="json"), **limits)] = k
    for future in as_completed(futures):
        k = futures[future]
        write_whole(files[k], json.dumps(_outcome(future, drawn[k].name, config)))
    transitions: list[Transition] = []
    nodes = []
    for file in files:
        about, recorded = json.loads(file.read_text()), file.with_suffix(".safetensors")
        if "rejected" in about:
            world.note(f"Epoch {epoch} rejects an episode: {about['rejected']}")
            continue
        nodes.append(about["nodes"])
        if recorded.exists():  # else presolving has solved the instance
            episode = Episode.load(recorded)
            values = returns(episode.parents, episode.before, nodes[-1], config.credit)[episode.kept]
            transitions += zip(episode.nodes, episode.taken.tolist(), values.tolist(), strict=True)
    counts = {"transitions": len(transitions), "rejected": config.episodes - len(nodes)}
    return transitions, counts | (
        {"train_nodes": geometric_mean([count + 1 for count in nodes]) - 1} if nodes else {}
    )


def validate(world: World, weights: Weights) -> float:
    """Return the 1-shifted geometric mean of nodes over validation instances and seeds; node selection is SCIP's."""
    method, seeds = Gnn.method(weights, "tmdp"), range(world.config.valid_seeds)
    results = world.results([world.job(instance, method, seed) for instance in world.valid for seed in seeds])
    nodes = [max(result.nodes, 1) * (1 if result.finished else _UNFINISHED) for result in results]
    return geometric_mean([count + 1 for count in nodes]) - 1


def objective(trained: Weights, weights: Weights, graph: Graph, values: Any, entropy: Any) -> Any:
    """Return what is minimised, summed over the graphs of a batch, and its parts."""
    logs = log_softmax(gnn_model.scores(weights | trained, graph), graph)
    is_graph = jnp.arange(len(graph.taken)) < graph.n_graphs
    loss = -jnp.sum(jnp.where(is_graph, values * logs[graph.taken], 0.0))
    spread = -jnp.sum(jnp.where(graph.graph < graph.n_graphs, jnp.exp(logs) * logs, 0.0))
    return loss - entropy * spread, {"loss": loss, "entropy": spread}


_slope = jax.jit(jax.grad(objective, has_aux=True))


def _graphs(transitions: Sequence[Transition], size: int, fills: bool = True) -> Iterator[tuple[Graph, Any]]:
    """Yield batches with their values; where it `fills` the last with nodes again, few shapes are compiled."""
    for begin in range(0, len(transitions), size):
        part = transitions[begin : begin + size]
        count = size if fills else len(part)
        nodes, taken, values = zip(*(part[k % len(part)] for k in range(count)), strict=True)
        graph = join(nodes, taken, size, step=2.0)._replace(n_graphs=np.int32(len(part)))
        yield graph, np.array(values, dtype=np.float32)


def update(
    weights: Weights, adam: Any, transitions: Sequence[Transition], config: TmdpConfig
) -> tuple[Weights, Any, dict[str, float]]:
    """Return weights and Adam's state after one step up the mean over transitions, and loss and entropy."""
    if not transitions:
        return weights, adam, {}
    trained, n = trained_part(weights), len(transitions)
    slope, losses = jax.tree.map(jnp.zeros_like, trained), {"loss": 0.0, "entropy": 0.0}
    for graph, values in _graphs(transitions, config.batch):
        part, parts = _slope(trained, weights, graph, values, config.entropy)
        slope = jax.tree.map(lambda total, term: total + term / n, slope, part)
        losses = {name: losses[name] + float(parts[name]) / n for name in losses}
    updates, adam = _adam.update(slope, adam)
    return weights | {name: trained[name] - config.rate * updates[name] for name in trained}, adam, losses


def _begin(world: World, start: Weights | None) -> State:
    """Return the state before the first epoch; normalisations of fresh weights are fitted to episodes of their own."""
    if start is None:
        start = gnn_model.initial(world.config.seed)
        transitions, _ = sample(world, start, 0)
        if not transitions:
            raise ConfigError("There are no transitions to fit normalisations to: try a larger share.")
        shown = _graphs(transitions, world.config.batch, fills=False)  # what is filled in would count again
        start = Gnn.fitted(start, [graph for graph, _ in shown])
    weights = {name: jnp.asarray(array) for name, array in start.items()}
    nodes = validate(world, weights)
    return State(weights, weights, _adam.init(trained_part(weights)), rate=world.config.rate, best_loss=nodes)


def epochs(world: World, start: Weights | None = None) -> Iterator[Epoch]:
    """Train from where the state in the folder is; yield after every epoch, and before the first of a new training."""
    config = world.config
    if (world.folder / STATE).exists():
        state = State.load(world.folder)
    else:
        state = _begin(world, start)
        state.save(world.folder)
        yield state, {"valid_nodes": state.best_loss}
    while state.epoch < config.epochs:
        epoch = state.epoch + 1
        transitions, metrics = sample(world, state.weights, epoch)
        weights, adam, losses = update(state.weights, state.adam, transitions, config)
        state = replace(state, weights=weights, adam=adam, epoch=epoch)
        if epoch % config.validate_every == 0 or epoch == config.epochs:
            metrics["valid_nodes"] = nodes = validate(world, weights)
            if nodes < state.best_loss:
                state = replace(state, best=weights, best_loss=nodes)
        state.save(world.folder)
        for file in (world.folder / EPISODES).iterdir():
            if file.suffix != ".json" or "rejected" not in file.read_text():
                file.unlink()
        yield state, metrics | losses
