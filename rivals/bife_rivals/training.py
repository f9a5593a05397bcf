"""Train a network as a Prefect flow, from our own expert samples or by its trees; ``python -m bife_rivals --help``.

It records samples, trains in epochs that are resumed where a run was killed, and writes ``method.json``, which
``bife evaluate --rule`` takes. MLflow shows the metrics of every epoch and the network with its signature.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import mlflow
import numpy as np
from mlflow.models import infer_signature
from prefect import flow, get_run_logger, task
from pydantic import Field

from bife_core import Store, WorkerPool, collect_decisions, load_method, open_benchmark
from bife_core.extend import (
    CollectionConfig,
    ConfigError,
    InstancesConfig,
    SolverConfig,
    Value,
    digest_of,
    home,
    write_whole,
)
from bife_rivals import learning, tmdp
from bife_rivals.film import Film
from bife_rivals.gnn import Gnn
from bife_rivals.graphs import Samples
from bife_rivals.networks import ARRAYS, GnnMethod
from bife_rivals.weights import of_text

NETWORKS: Final[dict[str, type[learning.Network]]] = {"gnn": Gnn, "film": Film, "tmdp": Gnn}
SIGNATURE: Final = infer_signature(ARRAYS, np.empty(1))
"""A node in, as `Node` has it, and a score per candidate out."""


class Preset(NamedTuple):
    """Samples to train with and of other instances, by which training is stopped, and what is set beside them."""

    train: int
    valid: int
    collection: dict[str, Any]
    training: dict[str, Any]


PRESETS: Final = {
    "smoke": Preset(
        16, 8, {"decisions_per_instance": 8, "share": 1.0}, {"steps": 2, "batch": 8, "epochs": 2}
    ),
    "quick": Preset(
        train=1000,
        valid=300,
        collection={"decisions_per_instance": 20, "share": 0.25},
        training={"steps": None, "epochs": 30, "patience": 3, "stop": 6},
    ),
    "paper": Preset(100_000, 20_000, {"decisions_per_instance": 10, "share": 0.05}, {}),
}
"""`paper` is the published scale: 100,000 samples of 10,000 instances."""


class TrainingRun(Value):
    """What is trained: it names the folder that a run which was killed goes on in."""

    network: str
    instances: InstancesConfig = InstancesConfig()
    solver: SolverConfig = SolverConfig.model_validate("paper")
    preset: str = "quick"
    seed: int = 0

    @property
    def folder(self) -> Path:
        """Where state and method are."""
        return home() / "rivals" / f"{self.network}-{self.instances.label}-{self.fingerprint()[:8]}"


class ImitationRun(TrainingRun):
    """A network trained from expert samples; of runs that differ in `samples`, what is held back is the same."""

    network: Literal["gnn", "film"] = "gnn"
    samples: int | None = Field(None, ge=1, description="Samples to train with; by default the preset's.")
    held_back: int | None = Field(
        None, ge=1, description="Samples of other instances that training stops by."
    )

    @property
    def sizes(self) -> tuple[int, int]:
        """How many samples it is trained with, and how many are held back."""
        preset = PRESETS[self.preset]
        return self.samples or preset.train, self.held_back or preset.valid


class TmdpRun(TrainingRun):
    """The graph network trained by its trees, see `tmdp`; `start` is the file of a network it begins with."""

    network: Literal["tmdp"] = "tmdp"
    mode: Literal["dfs", "objective_limit", "mdp"] = "dfs"
    start: Path | None = None

    def fingerprint(self) -> str:
        """Return a hash of all, and of what the file holds."""
        start = self.start.read_text(encoding="utf-8") if self.start else None
        return digest_of([self.model_dump(mode="json", exclude={"start"}), start])


@task
def record(run: ImitationRun, workers: int | None) -> tuple[Path, ...]:
    """Record what the run needs of samples; what is there already, of any run, is not recorded again."""
    collection, log = PRESETS[run.preset].collection, get_run_logger()
    progress = partial(log.info, "%d of %d samples")
    # What is trained with is of other instances than the last sample that is held back.
    n = sum(run.sizes) + collection["decisions_per_instance"]
    config = CollectionConfig(decisions=n, max_instances=n, nodes=True, **collection)
    benchmark = open_benchmark(run.instances, home() / "instances")
    folder = home() / "rivals" / f"samples-{run.instances.label}-{run.solver.label}"
    with WorkerPool(workers) as pool:
        return collect_decisions(benchmark, config, folder, pool, progress, log.info, run.solver).nodes


@task
def fit(run: ImitationRun, nodes: tuple[Path, ...]) -> Path:
    """Train epoch by epoch, from where a killed run was, and write the method of the best epoch."""
    network = NETWORKS[run.network]()
    train, valid = Samples.split(nodes, *run.sizes)
    config = learning.TrainingConfig.model_validate(PRESETS[run.preset].training | {"seed": run.seed})
    facts = {"samples": len(train), "held_back": len(valid), "record_s": train.record_s}
    facts |= config.model_dump()
    states = learning.epochs(network, train, valid, config, run.folder)

    def measured(state: learning.State) -> dict[str, float]:
        accuracy = learning.measure(network, state.best, valid, config.batch)
        return accuracy | {"us_node": learning.forward_us(network, state.best, valid[0])}

    return tracked(run, facts, states, measured)


@task
def reinforce(run: TmdpRun, workers: int | None) -> Path:
    """Train the graph network by its trees, from where a killed run was, and write the method of the best epoch."""
    config = tmdp.TmdpConfig.checked(tmdp.PRESETS[run.preset] | tmdp.MODES[run.mode] | {"seed": run.seed})
    start = load_method(run.start) if run.start else None
    if start is not None and not isinstance(start, GnnMethod):
        raise ConfigError(f"tMDP starts from a method of kind gnn; {run.start} is of kind {start.kind}.")
    benchmark = open_benchmark(run.instances, home() / "instances")
    with WorkerPool(workers) as sampling, WorkerPool(workers) as solving:
        world = tmdp.World(
            config=config,
            train=benchmark.instances("collection", config.train),
            valid=benchmark.instances("validation", config.valid),
            solver=run.solver,
            folder=run.folder,
            store=Store(run.folder),
            sampling=sampling,
            solving=solving,
            note=get_run_logger().info,
        )
        states = tmdp.epochs(world, of_text(start.weights) if start else None)
        facts = {
            "mode": run.mode,
            "start": run.start and digest_of(run.start.read_text(encoding="utf-8")),
            **config.model_dump(),
        }
        return tracked(run, facts, states, lambda state: {"valid_nodes": state.best_loss})


def tracked(
    run: TrainingRun,
    facts: dict[str, Any],
    states: Iterator[learning.Epoch],
    measured: Callable[[learning.State], dict[str, float]],
) -> Path:
    """Go through a training with its metrics in MLflow, and write the method of the best epoch."""
    log = get_run_logger()
    mlflow.set_experiment("rivals")
    noted = run.folder / "mlflow_run"
    noted_id = noted.read_text() if noted.exists() else None
    with mlflow.start_run(run_id=noted_id, run_name=None if noted_id else run.folder.name) as started:
        write_whole(noted, started.info.run_id)
        what = {"network": run.network, "instances": run.instances.label, "solver": run.solver.label}
        mlflow.log_params(facts | what)
        began = time.process_time()
        for state, metrics in learning.clocked(run.folder, states):
            metrics["cpu_s"] = time.process_time() - began
            mlflow.log_metrics(metrics, step=state.epoch)
            log.info("epoch %d: %s", state.epoch, ", ".join(f"{k} {v:.4g}" for k, v in metrics.items()))
        last = learning.State.load(run.folder)
        scores = measured(last)
        about = {name: facts[name] for name in ("samples", "held_back", "record_s") if name in facts}
        method, path = learning.write_method(NETWORKS[run.network](), last, run.folder, about | scores)
        mlflow.log_metrics({f"best_{name}": value for name, value in scores.items()})
        mlflow.log_metric("parameters", float(method.about["parameters"]))
        mlflow.pyfunc.log_model(
            name=run.folder.name,
            python_model=str(Path(__file__).with_name("logged.py")),
            artifacts={"method": str(path)},
            signature=SIGNATURE,
            pip_requirements=["bife-rivals", f"mlflow=={mlflow.__version__}"],
        )
    log.info("best epoch: %s; %s", ", ".join(f"{k} {v:.4g}" for k, v in scores.items()), path)
    return path


@flow(name="training")
def training(run: ImitationRun | TmdpRun, workers: int | None = None) -> Path:
    """Train a network, from samples that are recorded or by its own trees; return the file of the method."""
    run.folder.mkdir(parents=True, exist_ok=True)
    return reinforce(run, workers) if isinstance(run, TmdpRun) else fit(run, record(run, workers))
