"""Instances, families and benchmarks."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args, runtime_checkable

if TYPE_CHECKING:
    from bife_core.instances.milp import Milp

Split = Literal["collection", "design", "validation", "test"]
"""Decisions are recorded on `collection`, F_HF is measured on `design`, a final choice is made on
`validation`, and results are reported on `test`."""

SPLITS: tuple[Split, ...] = get_args(Split)

DATA: Final = Path(__file__).parent / "data"
"""Tables and networks of families; `DATA.md` in it names the sources."""

QUICK: Final[Mapping[str, Any]] = {
    "instances.size": "small",
    "high.time_limit_s": 30.0,
    "evaluation.instances": 12,
    "evaluation.most_instances": 40,
    "evaluation.time_limit_s": 60.0,
}
"""The preset `quick` of families whose size `test` takes more than minutes."""


def content_digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """Return the digest of a file's uncompressed content."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"  # SCIP too goes by the content, whatever the name
    with gzip.open(path) if compressed else path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance file, its `name` unique within its benchmark; those of one `group`, such as a day, are dependent."""

    name: str
    path: Path
    digest: str
    group: str = ""

    def __post_init__(self) -> None:
        if not self.group:
            object.__setattr__(self, "group", self.digest)


def marks(instances: Iterable[Instance]) -> set[str]:
    """Return the groups and digests of instances, by which a store finds them."""
    return {mark for instance in instances for mark in (instance.group, instance.digest)}


@runtime_checkable
class Benchmark(Protocol):
    """Where instances come from."""

    @property
    def name(self) -> str:
        """Short name in tables and runs."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that readers of results need, such as that test instances were also used for design."""

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return the first `count` instances of `split`; a folder may have fewer, and at least one."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Identifies an instance of a family."""

    family: str
    size: str
    split: Split
    index: int
    seed: int


@dataclass(frozen=True)
class Family:
    """A distribution, or a list, of instances in several sizes.

    `name` is what users write, such as ``set_covering``, `label` the paper's abbreviation, such as ``SC``.
    ``generate(source(place), **sizes[size])`` makes an instance; `source` is by default `instance_stream`. The size
    ``tiny`` is for tests: solved in a second, yet not at the root. ``count(size, split)`` limits the number of
    instances, ``group(place)`` is the `group` of one. Instances are made anew when a file of `data` changes. `notes`
    are sentences on their origin, `settings` the family's settings by preset.
    """

    name: str
    label: str
    generate: Callable[..., Milp]
    sizes: Mapping[str, Mapping[str, Any]]
    source: Callable[[Place], Any] | None = None
    count: Callable[[str, Split], int] | None = None
    group: Callable[[Place], str] | None = None
    data: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
