"""The options every benchmark script takes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import platformdirs

from bife_core.benchmarks.base import Split
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.opening import open_benchmark
from bife_core.config import InstancesConfig

SYNTHETIC = ["set_covering", "combinatorial_auction", "independent_set", "facility_location"]
"""The families every published rule is about."""


def parse(description: str | None, **defaults: Any) -> argparse.Namespace:
    """Read --families, --instances and --seeds, and one option for each further default."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--families",
        nargs="+",
        choices=sorted(FAMILIES),
        default=SYNTHETIC,
        help="instance families; by default the four synthetic ones",
    )
    parser.add_argument("--instances", type=int, default=defaults.pop("instances", 5), help="per family")
    parser.add_argument("--seeds", type=int, nargs="+", default=defaults.pop("seeds", [0]), help="SCIP seeds")
    parser.add_argument(
        "--size", default=defaults.pop("size", "test"), help="instance size: tiny, test or transfer"
    )
    for name, value in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if value is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(value, list):
            parser.add_argument(option, nargs="*", default=value)
        else:
            parser.add_argument(option, type=str if value is None else type(value), default=value)
    return parser.parse_args()


def instances_of(family: str, options: argparse.Namespace, split: Split = "test") -> list[Path]:
    """Return the model files of a family, generated on first use."""
    return [instance.path for instance in benchmark_of(family, options).instances(split, options.instances)]


def benchmark_of(family: str, options: argparse.Namespace) -> Any:
    """Open a family at the chosen size, cached in the user's cache directory."""
    config = InstancesConfig(benchmark=family, size=options.size)
    return open_benchmark(config, platformdirs.user_cache_path("bife") / "instances")
