"""Generated instances: drawn by BiFE or by Ecole, and kept in files that carry the digest of their content."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numpy.random import MT19937, RandomState, SeedSequence

from bife_core.benchmarks.base import SPLITS, Benchmark, Family, Instance, Place, Split
from bife_core.benchmarks.config import FAMILIES, InstancesConfig
from bife_core.benchmarks.folder import open_folder
from bife_core.benchmarks.milp import MilpData, mps_text
from bife_core.errors import ConfigError, InstanceError
from bife_core.files import write_whole
from bife_core.plugins import code_revision
from bife_core.values import digest_of

_SUFFIX = ".mps.gz"


def content_digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def fetch(directory: Path, stem: str, build: Callable[[], str]) -> tuple[Path, str]:
    """Return the file kept as `stem`, building and writing it if it is missing or damaged.

    The file is ``<stem>.<digest>.mps.gz``. Every fetch reads it and compares its content with the digest,
    so a truncated or altered file is built anew. It is written beside its place and moved there in one
    step: processes that fill the same directory at once see whole files only, and the last of them wins
    with equal bytes.

    Parameters
    ----------
    directory : Path
        Created if it is missing.
    stem : str
        Identifies the instance; must not contain a dot.
    build : callable
        Returns the text of the instance; called only when needed.

    Returns
    -------
    path : Path
        The file.
    digest : str
        Digest of its uncompressed content.

    Raises
    ------
    InstanceError
        If the file cannot be written.
    """
    for path in sorted(directory.glob(f"{stem}.*{_SUFFIX}")):
        digest = path.name.removesuffix(_SUFFIX).removeprefix(f"{stem}.")
        if _content_digest_of(path) == digest:
            return path, digest
    content = build().encode("ascii")
    digest = content_digest(content)
    path = directory / f"{stem}.{digest}{_SUFFIX}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # No time stamp goes into the file: equal instances are equal files.
        write_whole(path, gzip.compress(content, compresslevel=6, mtime=0))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InstanceError(f"Cannot keep the generated instance {path}: {reason}.") from error
    return path, digest


def _content_digest_of(path: Path) -> str | None:
    try:
        return content_digest(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error):
        return None


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
class GeneratedBenchmark:
    """The instances of a family in one size, as BiFE makes them; a family may limit the length of a split.

    Attributes
    ----------
    family : Family
        What is drawn.
    size : str
        One of the family's sizes.
    seed : int
        Shifts all streams.
    cache_dir : Path
        Below it the instance files are kept.
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
        """Where the instances come from; the splits are independent."""
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

    def _kind(self) -> str:
        """Return what the names of instances say of them."""
        return self.size

    def model(self, split: Split, index: int) -> MilpData:
        """Make instance `index` of `split`, without looking at the kept files."""
        place = Place(self.family.name, self.size, split, index, self.seed)
        source = self.family.source or _stream
        return self.family.generate(source(place), **self.family.sizes[self.size])

    def _text(self, split: Split, index: int) -> str:
        """Make an instance and return it as MPS."""
        return mps_text(self.model(split, index))

    def _recipe(self) -> str:
        """Return what distinguishes kept files of this size from others."""
        facts = [_REVISION, dict(self.family.sizes[self.size])]
        facts += [content_digest(path.read_bytes()) for path in self.family.data]
        facts += [revision] if (revision := code_revision(self.family.generate)) else []
        return digest_of(facts)[:8]


def _stream(place: Place) -> RandomState:
    return instance_stream(place.family, place.size, place.split, place.index, place.seed)


_GENERATORS: Final[dict[str, tuple[str, Mapping[str, str]]]] = {
    "set_covering": (
        "SetCoverGenerator",
        {"rows": "n_rows", "columns": "n_cols", "density": "density", "max_cost": "max_coef"},
    ),
    "combinatorial_auction": ("CombinatorialAuctionGenerator", {"items": "n_items", "bids": "n_bids"}),
    "independent_set": ("IndependentSetGenerator", {"nodes": "n_nodes", "affinity": "affinity"}),
    "facility_location": (
        "CapacitatedFacilityLocationGenerator",
        {"customers": "n_customers", "facilities": "n_facilities", "ratio": "ratio"},
    ),
}
"""Family -> Ecole's generator, and what it calls our parameters."""

INSTALL: Final = "conda install -c conda-forge ecole"

_FIXED: Final[dict[str, dict[str, Any]]] = {"independent_set": {"graph_type": "barabasi_albert"}}


def import_ecole() -> Any:
    """Return the module ``ecole``; a `ConfigError` says if it cannot be imported."""
    try:
        return importlib.import_module("ecole")
    except ImportError as error:
        raise ConfigError(f"Ecole cannot be imported ({error}); it is optional: `{INSTALL}`.") from error


@dataclass(frozen=True)
class EcoleBenchmark(GeneratedBenchmark):
    """A family whose instances Ecole draws, each from a generator with a seed of its own.

    Raises
    ------
    ConfigError
        If Ecole cannot be imported, or cannot draw instances of this size.
    """

    def __post_init__(self) -> None:
        self._arguments()
        import_ecole()

    @property
    def notes(self) -> tuple[str, ...]:
        """Whose instances these are."""
        return (f"Instances of {self.family.name} are drawn by Ecole.",)

    def _recipe(self) -> str:
        return "by-ecole"

    def _kind(self) -> str:
        return f"{self.size}-ecole"

    def _text(self, split: Split, index: int) -> str:
        ecole = import_ecole()
        name, _ = _GENERATORS[self.family.name]
        seed = int(
            instance_stream(f"ecole:{self.family.name}", self.size, split, index, self.seed).randint(2**31)
        )
        generator = getattr(ecole.instance, name)(**self._arguments(), rng=ecole.RandomGenerator(seed))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.mps"
            next(generator).write_problem(str(path))
            return path.read_text()

    def _arguments(self) -> dict[str, Any]:
        """Return the size's parameters under Ecole's names."""
        if self.family.name not in _GENERATORS:
            raise ConfigError(f"Ecole cannot draw {self.family.name}; it knows {', '.join(_GENERATORS)}.")
        _, names = _GENERATORS[self.family.name]
        unknown = [key for key in self.family.sizes[self.size] if key not in names]
        if unknown:
            raise ConfigError(
                f"Ecole cannot draw {self.family.name} of size {self.size!r}: it knows no {', '.join(unknown)}."
            )
        known = {names[key]: value for key, value in self.family.sizes[self.size].items()}
        return known | _FIXED.get(self.family.name, {})


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
