"""Train a network from our own expert samples, as a Prefect flow; ``python -m bife_rivals --help`` runs it.

It records samples, trains in epochs that are resumed where a run was killed, and writes ``method.json``, which
``bife evaluate --rule`` takes. MLflow shows the metrics of every epoch and the network with its signature.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final, Literal

import mlflow
import numpy as np
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec
from prefect import flow, get_run_logger, task
from pydantic import Field

from bife_core import WorkerPool, collect_decisions, open_benchmark
from bife_core.config import CollectionConfig, InstancesConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.files import write_whole
from bife_core.places import home
from bife_core.scip.solver import SolverConfig
from bife_core.values import Value
from bife_rivals.film import Film
from bife_rivals.gnn import Gnn
from bife_rivals.graphs import Samples
from bife_rivals.learning import Network, State, TrainingConfig, epochs, measure, trained_part

NETWORKS: Final[dict[str, type[Network]]] = {"gnn": Gnn, "film": Film}
SIGNATURE: Final = ModelSignature(
    inputs=Schema(
        [
            TensorSpec(np.dtype(np.float64), (-1, 19), "variables"),
            TensorSpec(np.dtype(np.float64), (-1, 5), "rows"),
            TensorSpec(np.dtype(np.float64), (-1, 72), "features"),
            TensorSpec(np.dtype(np.int64), (-1,), "candidates"),
            TensorSpec(np.dtype(np.int64), (-1,), "edge_starts"),
            TensorSpec(np.dtype(np.int64), (-1,), "edge_variables"),
            TensorSpec(np.dtype(np.float64), (-1,), "edge_values"),
        ]
    ),
    outputs=Schema([TensorSpec(np.dtype(np.float64), (-1,))]),
)
"""A node in, as `Node` has it, and a score per candidate out."""

Kind = Literal["gnn", "film"]


class Preset(Value):
    """How many samples are recorded, how, and how long is trained."""

    train: int = Field(description="Samples to train with.")
    valid: int = Field(description="Samples of other instances, by which training is stopped.")
    per_instance: int = Field(description="Samples of one instance at most.")
    share: float = Field(description="Share of the nodes that are recorded.")
    training: dict[str, Any] = Field(default_factory=dict, description="What of `TrainingConfig` is set.")


PRESETS: Final = {
    "smoke": Preset(
        train=16, valid=8, per_instance=8, share=1.0, training={"steps": 2, "batch": 8, "epochs": 2}
    ),
    "quick": Preset(
        train=1000,
        valid=300,
        per_instance=20,
        share=0.25,
        training={"steps": None, "epochs": 30, "patience": 3, "stop": 6},
    ),
    "paper": Preset(train=100_000, valid=20_000, per_instance=10, share=0.05),
}
"""`paper` is the published scale: 100,000 samples of 10,000 instances."""


class TrainingRun(Value):
    """What is trained: it names the folder that a run which was killed goes on in."""

    network: Kind = "gnn"
    instances: InstancesConfig = InstancesConfig()
    solver: SolverConfig = SolverConfig.model_validate("paper")
    preset: str = "quick"
    seed: int = 0

    @property
    def folder(self) -> Path:
        """Where samples, state and method are."""
        return home() / "rivals" / f"{self.network}-{self.instances.label}-{self.fingerprint()[:8]}"


@task
def record(run: TrainingRun, workers: int | None) -> CollectionSummary:
    """Record what the run needs of samples; what is there already is not recorded again."""
    preset, log = PRESETS[run.preset], get_run_logger()
    collection = CollectionConfig(
        decisions=preset.train + preset.valid,
        max_instances=preset.train + preset.valid,
        decisions_per_instance=preset.per_instance,
        share=preset.share,
        nodes=True,
    )

    def progress(done: int, of: int) -> None:
        log.info("%d of %d samples", done, of)

    benchmark = open_benchmark(run.instances, home() / "instances")
    with WorkerPool(workers) as pool:
        return collect_decisions(benchmark, collection, run.folder, pool, progress, log.info, run.solver)


@task
def fit(run: TrainingRun, collected: CollectionSummary) -> Path:
    """Train epoch by epoch, from where a killed run was, and write the method of the best epoch."""
    preset, log = PRESETS[run.preset], get_run_logger()
    network = NETWORKS[run.network]()
    every = Samples.of(collected.nodes, collected.decisions)
    last = max(1, min(every.places[min(preset.train, len(every) - 1)][0], len(collected.nodes) - 1))
    train = Samples.of(collected.nodes[:last], preset.train)
    valid = Samples.of(collected.nodes[last:], preset.valid)  # of other instances
    config = TrainingConfig.model_validate(preset.training | {"seed": run.seed})
    mlflow.set_tracking_uri(
        os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow' / 'mlflow.db'}"
    )
    mlflow.set_experiment("rivals")
    noted = run.folder / "mlflow_run"
    noted_id = noted.read_text() if noted.exists() else None
    with mlflow.start_run(run_id=noted_id, run_name=None if noted_id else run.folder.name) as tracked:
        write_whole(noted, tracked.info.run_id)
        mlflow.log_params({"samples": len(train), "held_back": len(valid), **config.model_dump()})
        mlflow.log_params(
            {"network": run.network, "instances": run.instances.label, "solver": run.solver.label}
        )
        began = time.process_time()
        for state, metrics in epochs(network, train, valid, config, run.folder):
            metrics["cpu_s"] = time.process_time() - began
            mlflow.log_metrics(metrics, step=state.epoch)
            log.info("epoch %d: %s", state.epoch, ", ".join(f"{k} {v:.4g}" for k, v in metrics.items()))
        best = State.load(run.folder).best
        method = network.method(best, run.folder.name)
        path = run.folder / method.file_name
        write_whole(path, method.text)
        found = measure(network, best, valid, config.batch)
        mlflow.log_metrics({f"best_{name}": value for name, value in found.items()})
        mlflow.log_metric("parameters", sum(array.size for array in trained_part(best).values()))
        mlflow.pyfunc.log_model(
            name=run.folder.name,
            python_model=str(Path(__file__).with_name("logged.py")),
            artifacts={"method": str(path)},
            signature=SIGNATURE,
            pip_requirements=["bife-rivals", f"mlflow=={mlflow.__version__}"],
        )
    log.info("best epoch: %s; %s", ", ".join(f"{k} {v:.4g}" for k, v in found.items()), path)
    return path


@flow(name="training")
def training(run: TrainingRun, workers: int | None = None) -> Path:
    """Record samples and train a network; return the file of the method."""
    run.folder.mkdir(parents=True, exist_ok=True)
    return fit(run, record(run, workers))
