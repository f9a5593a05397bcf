"""Train a network: ``python -m bife_rivals --network gnn --instances combinatorial_auction --preset quick``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bife_core import open_benchmark
from bife_core.extend import ConfigError, home


def main() -> None:
    """Read the options and run the flow `training`."""
    parser = argparse.ArgumentParser(prog="python -m bife_rivals", description=__doc__)
    parser.add_argument("--network", default="gnn", choices=["gnn", "film", "tmdp"])
    parser.add_argument("--instances", default="combinatorial_auction", help="a family of instances")
    parser.add_argument("--size", default="test", help="a size of the family")
    parser.add_argument("--solver", default="paper", help="'paper', 'default' or a settings file of SCIP")
    parser.add_argument("--preset", default="quick", choices=["smoke", "quick", "paper"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, help="gnn, film: samples to train with, not the preset's")
    parser.add_argument("--held-back", type=int, help="gnn, film: samples that training stops by")
    parser.add_argument("--mode", choices=["dfs", "objective_limit", "mdp"], help="tmdp: dfs by default")
    parser.add_argument("--start", type=Path, help="tmdp: file of the gnn it begins with; by default fresh")
    parser.add_argument("--workers", type=int, help="processes that record; by default one per core")
    options = parser.parse_args()
    if options.start and not options.start.is_file():
        parser.error(f"--start takes the file of a network; there is none at {options.start}.")
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_ENABLED", "true")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "300")
    try:
        from bife_tasks.home import prepare_environment

        prepare_environment()
        from bife_rivals import training  # here, for Prefect and MLflow read the environment when imported
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"Training needs {error.name}: pip install 'bife-rivals[learned]' brings it."
        ) from error
    chosen = {name: getattr(options, name) for name in ("samples", "held_back", "mode", "start")}
    fields = {name: value for name, value in chosen.items() if value is not None} | {
        "network": options.network,
        "instances": {"benchmark": options.instances, "size": options.size},
        "solver": options.solver,
        "preset": options.preset,
        "seed": options.seed,
    }
    try:
        run = (training.TmdpRun if options.network == "tmdp" else training.ImitationRun).checked(fields)
        open_benchmark(run.instances, home() / "instances")  # says what is wrong before a server starts
    except ConfigError as error:
        parser.error(str(error))
    print(training.training(run, workers=options.workers))


if __name__ == "__main__":
    main()
