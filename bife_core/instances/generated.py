"""Instances of families, generated once and kept in files."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from numpy.random import MT19937, RandomState, SeedSequence

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError, InstanceError
from bife_core.base.files import write_whole
from bife_core.base.plugins import code_revision
from bife_core.base.values import digest_of
from bife_core.instances.base import Benchmark, Family, Instance, Place, Split, content_digest, digest_of_file
from bife_core.instances.config import FAMILIES, InstancesConfig
from bife_core.instances.folder import open_folder
from bife_core.instances.milp import Milp, mps_text

_SUFFIX = ".mps.gz"

_REVISION = 2  # raise this when a family or the writer changes its results: older files are then not used


def fetch(directory: Path, stem: str, build: Callable[[], str]) -> tuple[Path, str]:
    """Return the file ``<stem>.<digest>.mps.gz`` and its digest, built if it is missing or damaged."""
    for path in sorted(directory.glob(f"{stem}.*{_SUFFIX}")):
        digest = path.name.removesuffix(_SUFFIX).removeprefix(f"{stem}.")
        with suppress(OSError, EOFError, zlib.error):
            if digest_of_file(path) == digest:
                return path, digest
    content = build().encode("ascii")
    digest = content_digest(content)
    path = directory / f"{stem}.{digest}{_SUFFIX}"
    try:
        # No time stamp goes into the file: equal instances are equal files.
        write_whole(path, gzip.compress(content, compresslevel=6, mtime=0))
    except OSError as error:
        why = error.strerror or error
        raise InstanceError(f"Cannot keep the generated instance {path}: {why}.") from error
    return path, digest


def instance_stream(place: Place) -> RandomState:
    """Return the random stream of an instance, a legacy `RandomState`: no version of numpy changes its numbers."""
    words = json.dumps([place.family, place.size, place.split, place.index, place.seed]).encode()
    return RandomState(MT19937(SeedSequence(int.from_bytes(hashlib.sha256(words).digest(), "big"))))


def in_turn(place: Place, groups: int) -> int:
    """Return the group of an instance, from 0 to `groups` - 1: they take turns, in an order drawn from the seed."""
    order = instance_stream(replace(place, index=-1)).permutation(groups)
    return int(order[place.index % groups])


@dataclass(frozen=True)
class GeneratedBenchmark:
    """The instances of a family in one size, kept below `cache_dir`."""

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
        """Where the instances come from."""
        return self.family.notes

    @checked
    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances 0 to `count` - 1 of `split`, or as many as there are."""
        limit = self.family.count
        many = count if limit is None else min(count, limit(self.size, split))
        return [self.instance(split, index) for index in range(many)]

    def instance(self, split: Split, index: int) -> Instance:
        """Return instance `index` of `split`, counted from 0, as a file."""
        directory = self.cache_dir / self.name / f"{self.size}-{self._recipe()}"
        stem = f"s{self.seed}-{split}-{index:05d}"
        path, digest = fetch(directory, stem, lambda: mps_text(self.model(split, index)))
        group_of = self.family.group
        group = f"{self.name}: {group_of(self._place(split, index))}" if group_of is not None else ""
        return Instance(f"{self.family.label}-{self.size}-{split}-{index:04d}", path, digest, group)

    def model(self, split: Split, index: int) -> Milp:
        """Generate instance `index` of `split`, without the kept files."""
        source = self.family.source or instance_stream
        return self.family.generate(source(self._place(split, index)), **self.family.sizes[self.size])

    def _place(self, split: Split, index: int) -> Place:
        return Place(self.name, self.size, split, index, self.seed)

    def _recipe(self) -> str:
        """Return a digest of all that the instances of this size depend on."""
        facts = [_REVISION, dict(self.family.sizes[self.size])]
        facts += [content_digest(path.read_bytes()) for path in self.family.data]
        facts += [revision] if (revision := code_revision(self.family.generate)) else []
        return digest_of(facts)[:8]


@checked
def open_benchmark(
    config: InstancesConfig, cache_dir: Path | str, progress: Callable[[int, int], None] | None = None
) -> Benchmark:
    """Return the benchmark that `config` names.

    Parameters
    ----------
    cache_dir : Path or str
        Folder of generated instances; created when the first is written.
    progress : callable, optional
        Called with (instances screened, instances in all) while a folder is screened.

    Raises
    ------
    ConfigError, InstanceError
        If there is no such family or size, or `groups` is no regular expression; if a folder has no usable instance.
    """
    if config.folder is not None:
        return open_folder(config.folder, Path(cache_dir).absolute(), config.seed, progress, config.groups)
    family = FAMILIES.find(config.benchmark)
    if config.size not in family.sizes:
        raise ConfigError(f"{family.name} has no size {config.size!r}; choose of {', '.join(family.sizes)}.")
    return GeneratedBenchmark(family, config.size, config.seed, Path(cache_dir).absolute())
