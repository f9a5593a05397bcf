"""Instances of a family, each drawn from a stream of its own so that any one can be rebuilt alone."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from numpy.random import MT19937, RandomState, SeedSequence

from bife_core.benchmarks.base import SPLITS, Family, Instance, Split
from bife_core.benchmarks.milp import MilpData
from bife_core.benchmarks.mps import mps_text
from bife_core.benchmarks.store import fetch
from bife_core.errors import ConfigError

_REVISION = 1
"""Raise this when a family or the writer changes what it gives: files kept before are then not used."""


def instance_stream(benchmark: str, size: str, split: Split, index: int, seed: int) -> RandomState:
    """Return the random stream of one instance.

    It is a legacy `RandomState`, whose sequence numpy has frozen, seeded through a `SeedSequence` from a
    hash of the arguments: different arguments give independent streams, on every platform the same ones.

    Examples
    --------
    >>> a = instance_stream("set_covering", "test", "design", 3, seed=0)
    >>> b = instance_stream("set_covering", "test", "design", 3, seed=0)
    >>> a.rand() == b.rand()
    True
    """
    words = json.dumps([benchmark, size, split, index, seed]).encode()
    return RandomState(MT19937(SeedSequence(int.from_bytes(hashlib.sha256(words).digest(), "big"))))


@dataclass(frozen=True)
class DrawnBenchmark(ABC):
    """The instances of a family in one size; every split is as long as one asks for.

    Attributes
    ----------
    family : Family
        What is drawn.
    size : str
        One of the family's sizes.
    seed : int
        Shifts all streams.
    cache_dir : Path
        Below it the model files are kept.
    """

    family: Family
    size: str
    seed: int
    cache_dir: Path

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing to note: the splits are independent."""
        return ()

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances 0 to `count` - 1 of `split`.

        Raises
        ------
        ConfigError
            If there is no such split.
        InstanceError
            If a file cannot be written.
        """
        return [self.instance(split, index) for index in range(count)]

    def instance(self, split: Split, index: int) -> Instance:
        """Return instance `index` of `split`, counted from 0, as a file; raises as `instances` does."""
        if split not in SPLITS:
            raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
        directory = self.cache_dir / self.family.name / f"{self.size}-{self._recipe()}"
        path, digest = fetch(directory, f"s{self.seed}-{split}-{index:05d}", lambda: self._text(split, index))
        return Instance(f"{self.family.label}-{self._kind()}-{split}-{index:04d}", path, digest)

    @abstractmethod
    def _recipe(self) -> str:
        """Return what tells kept files of this size from others."""

    @abstractmethod
    def _text(self, split: Split, index: int) -> str:
        """Draw a model and return it as MPS."""

    def _kind(self) -> str:
        """Return what the names of instances say of them."""
        return self.size


class GeneratedBenchmark(DrawnBenchmark):
    """A family whose instances BiFE draws."""

    def model(self, split: Split, index: int) -> MilpData:
        """Draw instance `index` of `split`, without looking at the kept files."""
        stream = instance_stream(self.family.name, self.size, split, index, self.seed)
        return self.family.generate(stream, **self.family.sizes[self.size])

    def _text(self, split: Split, index: int) -> str:
        return mps_text(self.model(split, index))

    def _recipe(self) -> str:
        parameters = json.dumps([_REVISION, dict(self.family.sizes[self.size])], sort_keys=True).encode()
        return hashlib.sha256(parameters).hexdigest()[:8]
