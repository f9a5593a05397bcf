"""Instances of a family, each made from its place alone, so that any one can be rebuilt without the others."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from numpy.random import MT19937, RandomState, SeedSequence

from bife_core.benchmarks.base import SPLITS, Family, Instance, Place, Split
from bife_core.benchmarks.milp import MilpData
from bife_core.benchmarks.mps import mps_text
from bife_core.benchmarks.store import content_digest, fetch
from bife_core.errors import ConfigError
from bife_core.values import digest_of

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
    """The instances of a family in one size; a split is as long as one asks for, unless the family has no more.

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
        """Where the models come from; the splits are independent."""
        return self.family.notes

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances 0 to `count` - 1 of `split`, or as many as there are.

        Raises
        ------
        ConfigError
            If there is no such split.
        InstanceError
            If a file cannot be written.
        """
        self._check(split)
        known = self.family.count
        return [
            self.instance(split, index)
            for index in range(count if known is None else min(count, known(self.size, split)))
        ]

    def instance(self, split: Split, index: int) -> Instance:
        """Return instance `index` of `split`, counted from 0, as a file; raises as `instances` does."""
        self._check(split)
        if self.family.count is not None and index >= (count := self.family.count(self.size, split)):
            raise ConfigError(
                f"{self.family.name} has {count} {split} instances of size {self.size!r}; there is no number {index}."
            )
        directory = self.cache_dir / self.family.name / f"{self.size}-{self._recipe()}"
        path, digest = fetch(directory, f"s{self.seed}-{split}-{index:05d}", lambda: self._text(split, index))
        return Instance(f"{self.family.label}-{self._kind()}-{split}-{index:04d}", path, digest)

    def _check(self, split: str) -> None:
        if split not in SPLITS:
            raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")

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
    """A family whose instances BiFE makes."""

    def model(self, split: Split, index: int) -> MilpData:
        """Make instance `index` of `split`, without looking at the kept files."""
        place = Place(self.family.name, self.size, split, index, self.seed)
        source = self.family.source or _stream
        return self.family.generate(source(place), **self.family.sizes[self.size])

    def _text(self, split: Split, index: int) -> str:
        return mps_text(self.model(split, index))

    def _recipe(self) -> str:
        facts = [_REVISION, dict(self.family.sizes[self.size])]
        facts += [content_digest(path.read_bytes()) for path in self.family.data]
        return digest_of(facts)[:8]


def _stream(place: Place) -> RandomState:
    return instance_stream(place.family, place.size, place.split, place.index, place.seed)
