"""Instances as a home has them: screened once, and entered in its store before use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bife_core.instances.base import Benchmark, Instance, Split, marks
from bife_core.instances.folder import FolderBenchmark
from bife_core.instances.generated import open_benchmark
from bife_core.run.config import InstancesConfig
from bife_core.store import Store
from bife_core.store.home import Home

_screened: dict[tuple[InstancesConfig, Home], Benchmark] = {}


@dataclass(frozen=True)
class Entered:
    """A benchmark whose instances are entered in the store with their groups, as serving their split, before use."""

    opened: Benchmark
    store: Store

    @property
    def name(self) -> str:
        """What the instances are called."""
        return self.opened.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of results must know about them."""
        return self.opened.notes

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances of a split; those of ``test`` are entered when it is known by which comparison."""
        instances = self.opened.instances(split, count)
        if split != "test":
            groups = {instance.group for instance in instances}
            every = self.opened.usable if isinstance(self.opened, FolderBenchmark) else instances
            self.store.serve(marks(instance for instance in every if instance.group in groups), split)
        return instances


def entered(config: InstancesConfig, home: Home, progress: Callable[[int, int], None]) -> Entered:
    """Return the benchmark a configuration names; a folder is screened once per process, and keeps splits in use."""
    if (config, home) not in _screened:
        _screened[config, home] = open_benchmark(config, home.instances, progress)
    opened = _screened[config, home]
    if isinstance(opened, FolderBenchmark):
        ledger = home.store.served({instance.digest for instance in opened.usable})
        opened = replace(opened, kept={mark: instance.split for mark, instance in ledger.items()})
    return Entered(opened, home.store)
