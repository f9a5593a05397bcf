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

_WEIGHTS: dict[Split, int] = {"collection": 3, "design": 3, "validation": 2, "test": 4}
"""Shares of the splits, in twelfths of the groups."""

_PLANS: tuple[tuple[int, tuple[tuple[Split, ...], ...]], ...] = (
    (12, (("collection",), ("design",), ("validation",), ("test",))),
    (3, (("collection", "design"), ("validation",), ("test",))),
    (2, (("collection", "design", "validation"), ("test",))),
    (1, (SPLITS,)),
)
"""From how many groups on a plan holds, and which splits share files under it."""

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
    passed over, and files of equal content count once. Those with the same match of the regular expression `groups` in
    their path below the folder, or of its first capture group, are one group; all others are groups of their own. Of
    every 12 groups, 3 go to collection, 3 to design, 2 to validation and 4 to test; with fewer some splits share
    files. Their order comes from a hash of `seed` and the match, or the content where there is none: neither renaming
    nor moving nor touching files changes the split then. An `InstanceError` says that `folder` is not a directory or
    holds no usable instance, a `ConfigError` that `groups` is no regular expression.
    """
    try:
        pattern = re.compile(groups or "")
    except re.error as error:
        raise ConfigError(f"instances.groups is no regular expression: {groups!r}, {error}.") from error
    folder = folder.absolute()
    files = _instance_files(folder)
    kept = cache_dir / "screened" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    usable: dict[str, Instance] = {}
    left_out: list[str] = []
    for path, found in zip(files, screen_all(files, kept, progress), strict=True):
        if "digest" in found:
            name = path.relative_to(folder).as_posix()
            match = pattern.search(name)
            group = match and match[min(1, pattern.groups)]
            usable.setdefault(found["digest"], Instance(name, path, found["digest"], group or ""))
        else:
            left_out.append(found["failure"])
    named = left_out[:_MOST_NAMED]
    more = [f"{len(left_out) - len(named)} more files are left out."] if len(left_out) > len(named) else []
    if not usable:
        raise InstanceError(f"No instance file in {folder} can be used: {' '.join(named + more)}")
    many = len({one.group for one in usable.values()})
    about = counted(len(usable), "usable instance", many)
    if len(shared := max(_shares(many)[0], key=len)) > 1:
        lost = ", so the test result says nothing about others" if "test" in shared else ""
        more.append(f"With {about}, fewer than 12, the same ones are in {', '.join(shared)}{lost}.")
    elif groups is not None:
        more.append(f"{about}.")
    return FolderBenchmark(
        name=folder.resolve().name,
        parts=_split(list(usable.values()), seed),
        notes=(*(f"Left out: {reason}" for reason in named), *more),
        left_out=tuple(left_out),
    )


def fewest_usable(tests: int) -> int:
    """Return of how many groups the usable instances of a folder must be for so many test groups.

    Examples
    --------
    >>> fewest_usable(4), fewest_usable(6)
    (11, 17)
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


def _split(instances: Sequence[Instance], seed: int) -> dict[Split, tuple[Instance, ...]]:
    """Split at least one instance, by groups."""

    def place(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    members: dict[str, list[Instance]] = {}
    for one in sorted(instances, key=lambda one: (place(one.group), place(one.digest))):
        members.setdefault(one.group, []).append(one)
    ordered = iter(members.values())
    parts: dict[Split, tuple[Instance, ...]] = {}
    for splits, count in zip(*_shares(len(members)), strict=True):
        rounds = itertools.chain(*itertools.zip_longest(*itertools.islice(ordered, count)))
        parts |= dict.fromkeys(splits, tuple(filter(None, rounds)))
    return parts


def _shares(n: int) -> tuple[tuple[tuple[Split, ...], ...], list[int]]:
    """Return which splits share files among n groups, and how many groups each of these gets."""
    plan = next(plan for least, plan in _PLANS if n >= least)
    shares = [n * sum(_WEIGHTS[split] for split in splits) / sum(_WEIGHTS.values()) for splits in plan]
    counts = [max(1, int(share)) for share in shares]
    for _ in range(n - sum(counts)):
        neediest = max(range(len(plan)), key=lambda k: shares[k] - counts[k])
        counts[neediest] += 1
    return plan, counts
