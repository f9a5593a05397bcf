"""Learning curves: ``python -m bife_rivals.curve --instances combinatorial_auction --samples 250 1000 4000``.

Records the largest of ``--samples`` and ``--held-back`` more of other instances, and trains each network with the first
samples of each number by the published protocol. One JSON object a training: `accuracy_k` is the share of the held-back
samples of which a candidate of the highest strong-branching score is among the k it scores highest; `record_s` are CPU
seconds of recording what it was trained with, `train_s` seconds of the clock, `us_node` microseconds of a forward pass
for one node on `device`, with the copies to it and back. What is there already is neither recorded nor trained again,
and a killed training goes on. ``--jobs`` trainings run at once, and print in the order given; on one GPU they need
``XLA_PYTHON_CLIENT_PREALLOCATE=false``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from bife_core import WorkerPool, collect_decisions, open_benchmark
from bife_core.config import CollectionConfig, InstancesConfig
from bife_core.places import home
from bife_core.scip.solver import SolverConfig
from bife_core.values import digest_of
from bife_rivals.film import Film
from bife_rivals.gnn import Gnn
from bife_rivals.graphs import Samples
from bife_rivals.learning import Network, State, TrainingConfig, clocked, epochs, measure, write_method

NETWORKS: dict[str, type[Network]] = {"gnn": Gnn, "film": Film}
_TIMED = 200


class Point(NamedTuple):
    """A training; what validates is of other instances than what it is trained with."""

    network: str
    train: Samples
    valid: Samples
    config: TrainingConfig
    folder: Path


def trained(point: Point) -> dict[str, Any]:
    """Train, from where a killed training was, write the method, and measure it."""
    network, train, valid = NETWORKS[point.network](), point.train, point.valid
    for _ in clocked(point.folder, epochs(network, train, valid, point.config, point.folder)):
        pass
    last = State.load(point.folder)
    facts: dict[str, int | float] = {
        "samples": len(train),
        "held_back": len(valid),
        "record_s": train.record_s,
    }
    facts |= measure(network, last.best, valid)
    name = f"{point.network} of {len(train)}"
    method, path = write_method(network, last, point.folder, name, facts)
    row = {"network": point.network, **method.model_dump()["about"], "epochs": last.epoch, "file": str(path)}
    return row | {"us_node": round(forward_us(network, last, valid))}


def forward_us(network: Network, state: State, samples: Samples) -> float:
    """Return the median microseconds of scoring a node, repeatedly the same one."""
    batch = network.batch([samples[0]], 1)
    scores = jax.jit(network.scores)
    times = []
    for _ in range(_TIMED):
        began = time.perf_counter()
        np.asarray(scores(state.best, batch))
        times.append(time.perf_counter() - began)
    return 1e6 * float(np.median(times))


def recorded(options: argparse.Namespace) -> tuple[Path, ...]:
    """Return the files of all samples."""
    config = CollectionConfig(
        decisions=(every := max(options.samples) + options.held_back + options.per_instance),
        max_instances=every,
        decisions_per_instance=options.per_instance,
        share=0.25,
        nodes=True,
    )
    instances = InstancesConfig(benchmark=options.instances, size=options.size)
    benchmark = open_benchmark(instances, home() / "instances")
    solver = SolverConfig.model_validate(options.solver)
    folder = home() / "rivals" / f"samples-{instances.label}-{solver.label}"
    with WorkerPool(options.workers) as pool:
        return collect_decisions(benchmark, config, folder, pool, solver=solver).nodes


def main() -> None:
    """Read the options, record, train and print."""
    parser = argparse.ArgumentParser(prog="python -m bife_rivals.curve", description=__doc__)
    parser.add_argument("--instances", default="combinatorial_auction", help="a family of instances")
    parser.add_argument("--size", default="test")
    parser.add_argument("--solver", default="paper", help="'paper', 'default' or a settings file of SCIP")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=["gnn"])
    parser.add_argument("--samples", nargs="+", type=int, default=[250, 1000])
    parser.add_argument("--held-back", type=int, default=300)
    parser.add_argument("--per-instance", type=int, default=20, help="samples of one instance at most")
    parser.add_argument("--steps", type=int, default=312, help="steps of an epoch, each of 32 samples")
    parser.add_argument("--epochs", type=int, default=1000, help="epochs at most")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once")
    parser.add_argument("--workers", type=int, help="processes that record; by default one per core")
    parser.add_argument("--only-record", action="store_true")
    options = parser.parse_args()
    files = recorded(options)
    if options.only_record:
        return
    config = TrainingConfig(steps=options.steps, epochs=options.epochs)
    train, valid = Samples.split(files, max(options.samples), options.held_back)
    names = [[file.name for file in some.files] for some in (train, valid)]
    what = [config.model_dump(exclude={"epochs"}), names, options.held_back]
    points = [
        Point(
            network,
            Samples.of(train.files, count),
            valid,
            config,
            files[0].parents[1] / f"{network}-{count}-{digest_of(what)[:8]}",
        )
        for network, count in product(options.networks, options.samples)
    ]
    if options.jobs == 1:
        show(map(trained, points))
    else:
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            show(pool.map(trained, points))


def show(rows: Iterable[dict[str, Any]]) -> None:
    """Print each once it is known."""
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
