"""A directory of the user's own instances: which files SCIP can read and branch on, and how they are split."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError, InstanceError
from bife_core.base.files import write_whole
from bife_core.base.wording import counted
from bife_core.instances.base import SPLITS, Instance, Split, digest_of_file, marks
from bife_core.solver.scip import reading
from bife_core.solver.scip.libscip import scip_version
from bife_core.solver.scip.reading import EXPECTED_FILES, model_format, read_model
from bife_core.workers import WorkerFailure, WorkerPool

_WEIGHTS: dict[Split, int] = {"collection": 2, "design": 2, "validation": 2, "test": 6}
"""Shares of the splits, in twelfths of the groups."""

_FEW = "With fewer than 24 {units} ({n} here), decisions are recorded on design instances."
_TWO = "With two {units}, one is collection, design and validation, and the other is the only test."
_ONE = "With a single {unit}, the test result is measured on what was used for design: it says nothing about others."
_PLANS: tuple[tuple[int, tuple[tuple[Split, ...], ...], str], ...] = (
    (24, (("collection",), ("design",), ("validation",), ("test",)), ""),
    (3, (("collection", "design"), ("validation",), ("test",)), _FEW),
    (2, (("collection", "design", "validation"), ("test",)), _TWO),
    (1, (SPLITS,), _ONE),
)
"""From how many groups on a plan holds, which splits share files under it, and what the user must know."""

_MANY: Final = 24
"""Instances from which on reading them in worker processes justifies their start."""
_LIMIT_S: Final = 600.0
"""Wall seconds one instance may take to be read."""

_MOST_NAMED: Final = 20
"""Files left out that are named each; further ones are counted."""


@dataclass(frozen=True)
class FolderBenchmark:
    """Instances found in a directory and its sub-directories.

    `ordered` are the instances of each group, in the order in which groups are split, and `kept` says of groups or
    digests which split they served before. `left_out` says of each file that cannot be used why, and `remarks` what
    other solvers read otherwise in how many files.
    """

    name: str
    ordered: tuple[tuple[Instance, ...], ...]
    left_out: tuple[str, ...] = ()
    kept: Mapping[str, Split] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @cached_property
    def _split(self) -> tuple[dict[Split, tuple[Instance, ...]], list[str]]:
        return _split(self.ordered, self.kept)

    @property
    def parts(self) -> dict[Split, tuple[Instance, ...]]:
        """The instances of each split, at least one: first one of each group, then the second ones."""
        return self._split[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on files that are left out, on groups, and on instances that splits share."""
        usable, groups = len(self.usable), len(self.ordered)
        grouped = [] if usable == groups else [f"{counted(usable, 'usable instance', groups)}."]
        return (*_named(self.left_out, "Left out: "), *self.remarks, *grouped, *self._split[1])

    @property
    def usable(self) -> list[Instance]:
        """All instances, each once, by name."""
        return sorted(itertools.chain(*self.ordered), key=lambda one: one.name)

    @checked
    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return the first `count` instances of `split`, or all if there are fewer."""
        return list(self.parts[split][:count])


def open_folder(
    folder: Path,
    cache_dir: Path,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    groups: str | None = None,
) -> FolderBenchmark:
    """Screen the instances of a directory and its sub-directories, and split them.

    Files of equal content count once. The regular expression `groups` is searched in the path of each instance below
    the folder; those with the same match, or the same first capture group of it, are one group, which no split cuts.
    The order in which groups are split comes from a hash of `seed` and what was matched, or the content: without
    `groups`, neither renaming nor moving the files changes the split. Half of the groups go to test, and a sixth each
    to collection, design and validation; with few some splits share files. An `InstanceError` says that no instance
    can be used, a `ConfigError` that `groups` is no regular expression.
    """
    group_of = _matcher(groups)
    folder = folder.absolute()
    files = instance_files(folder)
    kept = cache_dir / "screened" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    usable: dict[str, Instance] = {}
    left_out, remarks = list[str](), Counter[str]()
    for path, found in zip(files, screen_all(files, kept, progress), strict=True):
        if "digest" in found:
            name = path.relative_to(folder).as_posix()
            usable.setdefault(found["digest"], Instance(name, path, found["digest"], group_of(name)))
            remarks.update(found.get("notes", "").splitlines())
        else:
            left_out.append(found["failure"].encode(errors="backslashreplace").decode())
    if not usable:
        raise InstanceError(f"No instance file in {folder} can be used: {' '.join(_named(left_out))}")

    def place(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    members: dict[str, list[Instance]] = {}
    for one in sorted(usable.values(), key=lambda one: (place(one.group), place(one.digest))):
        members.setdefault(one.group, []).append(one)
    said = tuple(f"{counted(count, 'file')}: {remark}" for remark, count in sorted(remarks.items()))
    ordered = tuple(map(tuple, members.values()))
    return FolderBenchmark(folder.resolve().name, ordered, tuple(left_out), remarks=said)


def _named(left_out: Sequence[str], said: str = "") -> list[str]:
    """Return reasons for which files are left out; many are counted."""
    more = len(left_out) - _MOST_NAMED
    named = [f"{said}{reason}" for reason in left_out[:_MOST_NAMED]]
    return [*named, f"{more} more files are left out."] if more > 0 else named


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
    """Return of how many groups the usable instances of a folder must be for so many test groups."""
    shares = ((n, _shares(n)[1]) for n in itertools.count(1))
    return next(n for n, share in shares if _filled(share, [0] * len(share), n)[-1] >= tests)


def instance_files(folder: Path) -> list[Path]:
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
        raise InstanceError(f"{folder} holds no instance, not even below; expected {EXPECTED_FILES}.")
    return sorted(files)


def _split(
    groups: Sequence[tuple[Instance, ...]], kept: Mapping[str, Split]
) -> tuple[dict[Split, tuple[Instance, ...]], list[str]]:
    """Split groups, which keep former splits; return the splits, and sentences on those that share instances."""
    plan, shares, note = _shares(len(groups))
    part_of = {split: part for part, splits in enumerate(plan) for split in splits}
    given: dict[int, int] = {}
    for number, group in enumerate(groups):
        if served := {kept[mark] for mark in marks(group) & kept.keys()}:
            given[number] = part_of[min(served, key=SPLITS.index)]
    before = [list(given.values()).count(part) for part in range(len(plan))]
    new = iter([number for number in range(len(groups)) if number not in given])
    for part, count in enumerate(_filled(shares, before, len(groups) - len(given))):
        given |= dict.fromkeys(itertools.islice(new, count - before[part]), part)
    parts = {
        split: _in_turns([group for number, group in enumerate(groups) if given[number] == part])
        for split, part in part_of.items()
    }
    empty = [split for split in SPLITS if not parts[split]]
    every = _in_turns(groups)
    searched = tuple(one for one in every if one not in parts["test"]) or every
    parts |= {split: every if split == "test" else searched for split in empty}
    lacking = f"All instances served other splits before; none is left for {' and '.join(empty)} alone."
    unit = "usable instance{}" if len(every) == len(groups) else "group{} of usable instances"
    sharing = note.format(n=len(groups), unit=unit.format(""), units=unit.format("s"))
    return parts, [one for one in (sharing, lacking if empty else "") if one]


def _in_turns(groups: Sequence[tuple[Instance, ...]]) -> tuple[Instance, ...]:
    """Return one instance of each group, then the second ones."""
    return tuple(one for turn in itertools.zip_longest(*groups) for one in turn if one is not None)


def _filled(shares: Sequence[float], counts: Sequence[int], new: int) -> list[int]:
    """Return counts after so many more, each of which goes where none is, else where most are lacking."""
    filled = list(counts)
    for _ in range(new):
        filled[max(range(len(filled)), key=lambda part: (not filled[part], shares[part] - filled[part]))] += 1
    return filled


def _shares(n: int) -> tuple[tuple[tuple[Split, ...], ...], list[float], str]:
    """Return which splits share files among n groups, their shares of these, and a sentence about it."""
    plan, note = next((plan, note) for least, plan, note in _PLANS if n >= least)
    shares = [n * sum(_WEIGHTS[split] for split in splits) / sum(_WEIGHTS.values()) for splits in plan]
    return plan, shares, note


def screen(path: str) -> dict[str, str]:
    """Read an instance file; return its `digest` and `notes` by lines, or in `failure` why it cannot be used."""
    file, notes = Path(path), list[str]()
    try:
        model = read_model(file, notes)
    except InstanceError as error:
        return {"failure": str(error)}
    # SCIP branches on other constraints itself: special ordered sets, semicontinuous bounds.
    rows = {row.getConshdlrName() for row in model.getConss()} - {"linear", "nonlinear"}
    if model.getNBinVars() + model.getNIntVars() == 0 and not rows:
        return {"failure": f"{file.name} has no integer variables, so there is nothing to branch on."}
    return {"digest": digest_of_file(file), **({"notes": "\n".join(notes)} if notes else {})}


def screen_all(
    paths: Sequence[Path], kept: Path, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, str]]:
    """Yield what `screen` says of each file; digests are kept in the file `kept` until an instance file changes."""
    before: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        before = json.loads(kept.read_text(encoding="utf-8"))
    found = {path: entry for path in paths if (entry := before.get(_key(path))) is not None}
    new = [path for path in paths if path not in found]
    for path, answer in zip(new, _answers(new), strict=True):
        found[path] = answer
        if progress is not None:
            progress(len(found), len(paths))
    if new:
        usable = {_key(path): entry for path, entry in found.items() if "digest" in entry}
        write_whole(kept, json.dumps(usable))
    yield from (found[path] for path in paths)


def _key(path: Path) -> str:
    """Return what changes when a file does, or another SCIP or other checks read it."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ino} {scip_version()} {_checks()}"


@cache
def _checks() -> str:
    own = [Path(__file__), *sorted(Path(reading.__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in own)).hexdigest()[:8]


def _answers(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Yield what `screen` says of files; many are read in workers, where SCIP may crash on one."""
    if len(paths) < _MANY:
        yield from (screen(str(path)) for path in paths)
        return
    with WorkerPool(pin=False) as pool:
        call = f"{__name__}:screen"
        waiting = [pool.submit(call, {"path": str(path)}, limit_s=_LIMIT_S, reads=[path]) for path in paths]
        for path, answer in zip(paths, waiting, strict=True):
            try:
                yield answer.result()
            except WorkerFailure as failure:
                yield {"failure": f"{path.name} cannot be read: {failure}"}
