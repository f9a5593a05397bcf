"""The one door to all benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bife_core.benchmarks.base import Benchmark
from bife_core.benchmarks.config import FAMILIES, InstancesConfig
from bife_core.benchmarks.folder import open_folder
from bife_core.benchmarks.generated import EcoleBenchmark, GeneratedBenchmark
from bife_core.errors import ConfigError


def open_benchmark(
    config: InstancesConfig, cache_dir: Path | str, progress: Callable[[int, int], None] | None = None
) -> Benchmark:
    """Return the benchmark `config` names.

    Parameters
    ----------
    config : InstancesConfig
        Family and size, or a folder of instances.
    cache_dir : Path or str
        Where generated instances are kept; created when the first is written. A folder's instances stay where
        they are, and what is in archives there is unpacked here.
    progress : callable, optional
        Called with (instances screened, instances in all) while a folder's instances are looked at for the first time.

    Raises
    ------
    ConfigError
        If there is no such family or size, or Ecole is to draw it and cannot.
    InstanceError
        If a folder holds no usable instance.
    """
    if config.folder is not None:
        return open_folder(config.folder, Path(cache_dir).absolute(), config.seed, progress)
    family = FAMILIES.find(config.benchmark)
    if config.size not in family.sizes:
        known = ", ".join(family.sizes)
        raise ConfigError(f"{family.name} has no size {config.size!r}; choose one of {known}.")
    if config.drawn_by == "ecole":
        return EcoleBenchmark(family, config.size, config.seed, Path(cache_dir).absolute())
    return GeneratedBenchmark(family, config.size, config.seed, Path(cache_dir).absolute())
