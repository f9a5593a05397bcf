"""Measurements: each module prints one JSON object a line and is no test; this one holds what they share."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import platformdirs
import pyscipopt

from bife_core import Decisions, PipelineConfig, Store, WorkerPool, collect_decisions, open_benchmark
from bife_core.base.stats import ratio_interval
from bife_core.extend import (
    FAMILIES,
    REFERENCE_RULES,
    Benchmark,
    CollectionConfig,
    InstancesConfig,
    SolverConfig,
    write_whole,
)
from bife_core.measure.context import SolveContext

SYNTHETIC = ["set_covering", "combinatorial_auction", "independent_set", "facility_location"]
"""The families every published rule is about."""

PUBLISHED = {rule.family: name for name, rule in REFERENCE_RULES.items() if rule.family}
"""The published rule of each family that has one."""

GENERAL = "general,budget=0.6,once"
"""The rule that an instance can have without a search, after a budget for RPB."""


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that shows a script's docstring as it is written."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def emit(row: Mapping[str, Any]) -> None:
    print(json.dumps(row), flush=True)


def parse(description: str | None, families: str = "--families", **defaults: Any) -> argparse.Namespace:
    """Read --families, --instances and --seeds, and one option for each further default."""
    parser = parser_of(description)
    parser.add_argument(
        families,
        nargs="+",
        type=family_or_folder,
        default=SYNTHETIC,
        help="instance families, or folders of instances; by default the four synthetic families",
    )
    parser.add_argument("--draw", type=int, default=defaults.pop("draw", 0), help="seed of the instances")
    parser.add_argument("--instances", type=int, default=defaults.pop("instances", 5), help="per family")
    parser.add_argument("--seeds", type=int, nargs="+", default=defaults.pop("seeds", [0]), help="SCIP seeds")
    parser.add_argument("--size", default=defaults.pop("size", "test"), help="tiny, test or transfer")
    for name, value in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if value is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(value, list):
            kind = type(value[0]) if value else str
            parser.add_argument(option, nargs="*", type=kind, default=value)
        else:
            parser.add_argument(option, type=str if value is None else type(value), default=value)
    return parser.parse_args()


def family_or_folder(name: str) -> str:
    if name not in FAMILIES and not Path(name).is_dir():
        raise argparse.ArgumentTypeError(f"{name!r} is no folder and none of {', '.join(sorted(FAMILIES))}")
    return name


def instances_of(family: str, options: argparse.Namespace) -> list[Path]:
    """Return the test models of a family, generated on first use."""
    return [instance.path for instance in benchmark_of(family, options).instances("test", options.instances)]


def model_of(path: Path, params: Mapping[str, Any] | None = None) -> pyscipopt.Model:
    """Return the model in a file, which prints nothing, under parameters of SCIP."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.setParams({"timing/clocktype": 1} | dict(params or {}))  # of the CPU
    return model


def rounded(numbers: Mapping[str, float | None], digits: int = 3) -> dict[str, float | None]:
    """Return numbers as a line of the result has them, None for what is none."""
    values = {name: float("nan") if value is None else float(value) for name, value in numbers.items()}
    return {name: round(value, digits) if math.isfinite(value) else None for name, value in values.items()}


def interval_of(logs: Any) -> dict[str, float | None]:
    """Return ratio and interval from logarithms of ratios."""
    interval = ratio_interval(logs)
    return rounded({"ratio": interval.ratio, "ci_low": interval.low, "ci_high": interval.high})


def benchmark_of(family: str, options: argparse.Namespace) -> Benchmark:
    """Open a family at the chosen size, or a folder, cached in the user's cache directory."""
    of_family = {"benchmark": family, "size": options.size, "seed": options.draw}
    config = InstancesConfig.model_validate(
        of_family if family in FAMILIES else {"benchmark": "folder", "folder": family}
    )
    return open_benchmark(config, platformdirs.user_cache_path("bife") / "instances")


def decisions_of(
    benchmark: Benchmark, config: CollectionConfig, home: Path, pool: WorkerPool, solver: str
) -> Decisions:
    """Return decisions of a benchmark under settings of SCIP, recorded on first use and kept in `home`."""
    folder, named = home / "decisions" / benchmark.name, SolverConfig.model_validate(solver)
    return Decisions.load(collect_decisions(benchmark, config, folder, pool, solver=named).path)


def context_of(pool: WorkerPool, store: Store, solver: str = "default", **high: Any) -> SolveContext:
    """Return how F_HF is measured, by settings of the section `high`."""
    config = PipelineConfig.model_validate({"high": high}).high
    return SolveContext(config, SolverConfig.model_validate(solver), pool, store)


def cut(decisions: Decisions, least: int) -> tuple[Decisions, Decisions]:
    """Return at least so many decisions to fit to, two thirds of fewer, and those of other instances to judge by."""
    names = decisions.instance
    least = min(least, 2 * len(names) // 3)
    count = next(at for at in range(least, len(names)) if names[at] != names[at - 1])
    return decisions[:count], decisions[count:]


def tuned(instances: str | Path, output: Path, seconds: float, *options: str) -> tuple[Path, Path]:
    """Let `bife tune` write settings, and return that file and the one that holds all that was found."""
    program = [str(Path(sys.executable).with_name("bife")), "tune", "--instances", str(instances)]
    command = [*program, *options, "--seconds", str(seconds), "--output", str(output)]
    if not output.is_file():
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, check=True, stdout=sys.stderr, env=os.environ | {"BIFE_PLAIN": "1"})
    complete = output.with_suffix(".json")
    return output, complete if complete.is_file() else output


def kept(file: Path, make: Callable[[], Any]) -> Any:
    """Return what an earlier run kept in a file, or make it and keep it."""
    if not file.exists():
        write_whole(file, json.dumps(make()))
    return json.loads(file.read_text(encoding="utf-8"))


@contextmanager
def home_of(directory: str | None) -> Iterator[Path]:
    """Give a directory to work in, which stays only if it was named."""
    if directory is not None:
        yield Path(directory).resolve()
        return
    with TemporaryDirectory(prefix="bife-bench-", ignore_cleanup_errors=True) as made:
        yield Path(made)
