"""A directory of the user's own instances, split by what the files hold."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bife_core.benchmarks.base import SPLITS, Instance, Split
from bife_core.benchmarks.screening import screen_all
from bife_core.errors import ConfigError, InstanceError
from bife_core.scip.reading import EXPECTED_FILES, model_format
from bife_core.wording import counted

_WEIGHTS: dict[Split, int] = {"collection": 2, "design": 2, "validation": 2, "test": 6}
"""Shares of the splits, in twelfths of the groups."""

_PLANS: tuple[tuple[int, tuple[tuple[Split, ...], ...], str], ...] = (
    (24, (("collection",), ("design",), ("validation",), ("test",)), ""),
    (
        3,
        (("collection", "design"), ("validation",), ("test",)),
        "With fewer than 24 {units} ({n} here), decisions are recorded on design instances.",
    ),
    (
        2,
        (("collection", "design", "validation"), ("test",)),
        "With two {units}, one is collection, design and validation, and the other is the only test.",
    ),
    (
        1,
        (SPLITS,),
        "With a single {unit}, the test result is measured on what was used for design, and says nothing about others.",
    ),
)
"""From how many groups on a plan holds, which splits share files under it, and what the user must know."""

_MOST_NAMED = 20
"""Files left out that are named each; further ones are counted."""


@dataclass(frozen=True)
class FolderBenchmark:
    """Instances found in a directory and its sub-directories.

    `parts` are the instances of each split, none of them empty: first one of each group, then the second ones. `notes`
    are sentences on files that are left out, on groups and on instances that splits share, and `left_out` says of each
    file that cannot be used why.
    """

    name: str
    parts: dict[Split, tuple[Instance, ...]]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def usable(self) -> list[Instance]:
        """All instances, each once, by name."""
        distinct = {one.digest: one for part in self.parts.values() for one in part}
        return sorted(distinct.values(), key=lambda one: one.name)

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return the first `count` instances of `split`, or all if there are fewer."""
        if split not in self.parts:
            raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
        return list(self.parts[split][:count])


def open_folder(
    folder: Path,
    cache_dir: Path,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    groups: str | None = None,
) -> FolderBenchmark:
    """Screen the instances of a directory and split them.

    Sub-directories are searched too; names that start with a dot and files that are no instances by their name are
    passed over, and files of equal content count once. The regular expression `groups` is searched in the path of each
    instance below the folder; those with the same match, or the same first capture group of it, are one group, and no
    split cuts through a group. Others are groups of their own. The order in which groups are split comes from a hash of
    `seed` and what was matched, or the content: without `groups`, neither renaming nor moving nor touching the files
    changes the split. Of every 12 groups, 2 go to collection, 2 to design, 2 to validation and 6 to test; with few
    some splits share files. An `InstanceError` says that `folder` is not a directory or holds no usable instance, a
    `ConfigError` that `groups` is no regular expression.
    """
    group_of = _matcher(groups)
    folder = folder.absolute()
    files = _instance_files(folder)
    kept = cache_dir / "screened" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    usable: dict[str, Instance] = {}
    left_out: list[str] = []
    for path, found in zip(files, screen_all(files, kept, progress), strict=True):
        if "digest" in found:
            name = path.relative_to(folder).as_posix()
            usable.setdefault(found["digest"], Instance(name, path, found["digest"], group_of(name)))
        else:
            left_out.append(found["failure"])
    named = left_out[:_MOST_NAMED]
    more = [f"{len(left_out) - len(named)} more files are left out."] if len(left_out) > len(named) else []
    if not usable:
        raise InstanceError(f"No instance file in {folder} can be used: {' '.join(named + more)}")
    parts, sharing = _split(list(usable.values()), seed)
    many = len({one.group for one in usable.values()})
    grouped = [f"{counted(len(usable), 'usable instance', many)}."] if groups is not None else []
    return FolderBenchmark(
        name=folder.resolve().name,
        parts=parts,
        notes=(*(f"Left out: {reason}" for reason in named), *more, *grouped, *filter(None, [sharing])),
        left_out=tuple(left_out),
    )


def _matcher(groups: str | None) -> Callable[[str], str]:
    """Return what tells the group of a path, "" for one of its own."""
    try:
        pattern = re.compile(groups or "")
    except re.error as error:
        raise ConfigError(f"instances.groups is no regular expression: {groups!r}, {error}.") from error

    def group_of(path: str) -> str:
        found = pattern.search(path)
        return (found[min(1, pattern.groups)] or "") if found is not None else ""

    return group_of


def fewest_usable(tests: int) -> int:
    """Return of how many groups the usable instances of a folder must be for so many test groups.

    Examples
    --------
    >>> fewest_usable(4), fewest_usable(6)
    (7, 12)
    """
    return next(n for n in itertools.count(1) if _shares(n)[1][-1] >= tests)


def _instance_files(folder: Path) -> list[Path]:
    """Return the files below a folder that are instances by their names, sorted."""
    if not folder.is_dir():
        raise InstanceError(f"{folder} is no folder of instances.")
    files: list[Path] = []
    seen: set[str] = set()
    for directory, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(directory)) in seen:  # a link may lead back to where it lies
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        found = (Path(directory, name) for name in names if not name.startswith("."))
        files += [path for path in found if model_format(path) is not None]
    if not files:
        raise InstanceError(
            f"{folder} holds no instance, not even in a sub-folder; expected {EXPECTED_FILES}."
        )
    return sorted(files)


def _split(instances: Sequence[Instance], seed: int) -> tuple[dict[Split, tuple[Instance, ...]], str]:
    """Split at least one instance; return the splits and the sentence about those that share files."""

    def place(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    members: dict[str, list[Instance]] = {}
    for one in sorted(instances, key=lambda one: (place(one.group), place(one.digest))):
        members.setdefault(one.group, []).append(one)
    ordered = list(members.values())
    plans, counts, sharing = _shares(len(ordered))
    parts: dict[Split, tuple[Instance, ...]] = {}
    begin = 0
    for splits, count in zip(plans, counts, strict=True):
        rounds = itertools.zip_longest(*ordered[begin : begin + count])
        parts |= dict.fromkeys(splits, tuple(one for turn in rounds for one in turn if one is not None))
        begin += count
    unit = "usable instance{}" if len(ordered) == len(instances) else "group{} of usable instances"
    return parts, sharing.format(n=len(ordered), unit=unit.format(""), units=unit.format("s"))


def _shares(n: int) -> tuple[tuple[tuple[Split, ...], ...], list[int], str]:
    """Return which splits share files among n groups, how many each of these plans gets, and the sentence about it."""
    plans, sharing = next((plans, note) for least, plans, note in _PLANS if n >= least)
    shares = [n * sum(_WEIGHTS[split] for split in splits) / sum(_WEIGHTS.values()) for splits in plans]
    counts = [max(1, int(share)) for share in shares]
    for _ in range(n - sum(counts)):
        neediest = max(range(len(plans)), key=lambda k: shares[k] - counts[k])
        counts[neediest] += 1
    return plans, counts, sharing
