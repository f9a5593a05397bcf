"""Instances as a home has them: screened once, and entered in the store before use; without Prefect and MLflow."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from bife_core.benchmarks.base import Benchmark, Instance, Split, marks
from bife_core.benchmarks.folder import FolderBenchmark
from bife_core.benchmarks.generated import open_benchmark
from bife_core.config import InstancesConfig
from tasks.home import project_home
from tasks.stores import home_store, observer


@lru_cache(maxsize=8)
def _opened(config: InstancesConfig) -> Benchmark:
    return open_benchmark(config, project_home().instances, observer().progress)


class _Entering(NamedTuple):
    """A benchmark whose instances are entered in the store with their groups, as serving their split, before use."""

    opened: Benchmark
    name: str
    notes: tuple[str, ...]

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances of a split; those of ``test`` are entered when it is known by which comparison."""
        found = self.opened.instances(split, count)
        if split != "test":
            groups = {one.group for one in found}
            every = self.opened.usable if isinstance(self.opened, FolderBenchmark) else found
            home_store().serve(marks(one for one in every if one.group in groups), split)
        return found


def benchmark(config: InstancesConfig) -> _Entering:
    """Return the benchmark a configuration names; a folder is screened once per process.

    What instances of a folder served in this store stays their split.
    """
    opened = _opened(config)
    if isinstance(opened, FolderBenchmark):
        ledger = home_store().served({one.digest for one in opened.usable})
        opened = replace(opened, kept={mark: one.split for mark, one in ledger.items()})
    return _Entering(opened, opened.name, opened.notes)
