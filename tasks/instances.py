"""The instances of a split: made or found by a task, and handed on as a value that is small and serialises to JSON."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from prefect import task

from bife_core.benchmarks.base import Benchmark, Instance, Split
from bife_core.benchmarks.opening import open_benchmark
from bife_core.config import InstancesConfig
from bife_core.study import content_of
from bife_core.values import Value
from tasks.home import project_home
from tasks.stores import progress_listener


class InstanceSet(Value):
    """The instances of one split, in order, and what a reader of results must know about them."""

    label: str
    split: str
    instances: tuple[Instance, ...]
    notes: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """Hash of the models in their order, wherever they lie."""
        return content_of(self.instances)

    @property
    def dataset(self) -> dict[str, Any]:
        """The set as an MLflow dataset."""
        return {
            "name": f"{self.label}-{self.split}",
            "digest": self.content,
            "source": str(self.instances[0].path.parent),
            "profile": {"instances": len(self.instances)},
            "context": self.split,
        }


@lru_cache(maxsize=8)
def benchmark(config: InstancesConfig) -> Benchmark:
    """Return the benchmark a configuration names; a folder is screened once per process."""
    return open_benchmark(config, project_home().instances, progress_listener())


@task(name="instances", task_run_name="instances {split}")
def prepare_instances(config: InstancesConfig, split: Split, count: int) -> InstanceSet:
    """Generate or find the instances of a split.

    Raises
    ------
    ConfigError, InstanceError
        If there is no such benchmark, or it has no usable model.
    """
    opened = benchmark(config)
    chosen = tuple(opened.instances(split, count))
    return InstanceSet(label=opened.name, split=split, instances=chosen, notes=opened.notes)
