"""Folders of the user's instances: which files can be used, and how they are split."""

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
from bife_core.solver.scip import reader
from bife_core.solver.scip.libscip import scip_version
from bife_core.solver.scip.reader import CONVERTED, model_format, no_instance, read_model
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
"""The fewest groups of a plan, which splits share files under it, and a sentence for the user."""

_MANY: Final = 24  # instances from which on reading them in worker processes justifies their start
_LIMIT_S: Final = 600.0  # wall seconds one instance may take to be read

_MOST_NAMED: Final = 20  # most files left out that are named; further ones are counted


@dataclass(frozen=True)
class FolderBenchmark:
    """The instances below a directory.

    `ordered` are the instances of each group, in the order in which groups are split; `kept` has the former splits of
    groups and digests. `left_out` has a reason for each unusable file, `remarks` what other solvers read otherwise.
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
        """The instances of each split, at least one: the first of each group, then the second ones."""
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
        return sorted(itertools.chain(*self.ordered), key=lambda instance: instance.name)

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
    """Screen the instances below a directory, and split them.

    Files of equal content count once. Instances in whose paths the regular expression `groups` has the same match, or
    the same first capture group, are one group, which no split cuts. Groups are ordered by a hash of `seed` and the
    match, or else the content, whatever files are called. Half go to test, a sixth each to collection, design and
    validation; splits of few groups share files. Raises `InstanceError` if none can be used, and `ConfigError`.
    """
    group_of = _matcher(groups)
    folder = folder.absolute()
    files = instance_files(folder)
    kept = cache_dir / "screened" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    usable: dict[str, Instance] = {}
    left_out, remarks = list[str](), Counter[str]()
    for path, answer in zip(files, screen_all(files, kept, progress), strict=True):
        if "digest" in answer:
            name = path.relative_to(folder).as_posix()
            usable.setdefault(answer["digest"], Instance(name, path, answer["digest"], group_of(name)))
        else:
            left_out.append(answer["failure"].encode(errors="backslashreplace").decode())
        remarks.update(answer.get("notes", "").splitlines())
    notes = tuple(f"{counted(count, 'file')}: {remark}" for remark, count in sorted(remarks.items()))
    if not usable:
        reasons = " ".join((*_named(left_out), *notes))
        raise InstanceError(f"No instance file in {folder} can be used: {reasons}")

    def rank(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    members: dict[str, list[Instance]] = {}
    for instance in sorted(usable.values(), key=lambda each: (rank(each.group), rank(each.digest))):
        members.setdefault(instance.group, []).append(instance)
    ordered = tuple(map(tuple, members.values()))
    return FolderBenchmark(folder.resolve().name, ordered, tuple(left_out), remarks=notes)


def _named(left_out: Sequence[str], prefix: str = "") -> list[str]:
    """Return the reasons why files are left out, up to `_MOST_NAMED`."""
    more = len(left_out) - _MOST_NAMED
    reasons = [f"{prefix}{reason}" for reason in left_out[:_MOST_NAMED]]
    return [*reasons, f"{more} more files are left out."] if more > 0 else reasons


def _matcher(groups: str | None) -> Callable[[str], str]:
    """Return a function from a path to its group, "" for a group of its own."""
    try:
        pattern = re.compile(groups or "")
    except re.error as error:
        raise ConfigError(f"instances.groups is no regular expression: {groups!r}, {error}.") from error

    def group_of(path: str) -> str:
        match = pattern.search(path)
        return (match[min(1, pattern.groups)] or "") if match is not None else ""

    return group_of


def fewest_usable(tests: int) -> int:
    """Return the least number of groups of usable instances of which `tests` become test groups."""
    shares = ((n, _shares(n)[1]) for n in itertools.count(1))
    return next(n for n, share in shares if _filled(share, [0] * len(share), n)[-1] >= tests)


def instance_files(folder: Path) -> list[Path]:
    """Return the files below a folder with names of instances, sorted."""
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
        paths = (Path(directory, name) for name in names if not name.startswith("."))
        files += [path for path in paths if model_format(path) is not None]
    if not files:
        other = next((path for path in folder.iterdir() if path.name.lower().endswith((*CONVERTED,))), folder)
        raise InstanceError(f"{folder} holds no instance, not even below: {no_instance(other)}")
    return sorted(files)


def _split(
    groups: Sequence[tuple[Instance, ...]], kept: Mapping[str, Split]
) -> tuple[dict[Split, tuple[Instance, ...]], list[str]]:
    """Split groups, which keep their former splits; return the splits, and sentences on shared instances."""
    plan, shares, note = _shares(len(groups))
    part_of = {split: part for part, splits in enumerate(plan) for split in splits}
    assigned: dict[int, int] = {}
    for number, group in enumerate(groups):
        if served := {kept[mark] for mark in marks(group) & kept.keys()}:
            assigned[number] = part_of[min(served, key=SPLITS.index)]
    before = [list(assigned.values()).count(part) for part in range(len(plan))]
    new = iter([number for number in range(len(groups)) if number not in assigned])
    for part, count in enumerate(_filled(shares, before, len(groups) - len(assigned))):
        assigned |= dict.fromkeys(itertools.islice(new, count - before[part]), part)
    parts = {
        split: _in_turns([group for number, group in enumerate(groups) if assigned[number] == part])
        for split, part in part_of.items()
    }
    empty = [split for split in SPLITS if not parts[split]]
    every = _in_turns(groups)
    searched = tuple(instance for instance in every if instance not in parts["test"]) or every
    parts |= {split: every if split == "test" else searched for split in empty}
    lacking = f"All instances served other splits before; none is left for {' and '.join(empty)} alone."
    unit = "usable instance{}" if len(every) == len(groups) else "group{} of usable instances"
    sharing = note.format(n=len(groups), unit=unit.format(""), units=unit.format("s"))
    return parts, [sentence for sentence in (sharing, lacking if empty else "") if sentence]


def _in_turns(groups: Sequence[tuple[Instance, ...]]) -> tuple[Instance, ...]:
    """Return the first instance of each group, then the second ones."""
    turns = itertools.zip_longest(*groups)
    return tuple(instance for turn in turns for instance in turn if instance is not None)


def _filled(shares: Sequence[float], counts: Sequence[int], new: int) -> list[int]:
    """Return counts after adding `new` groups, each to an empty part, else to the one that lacks most."""
    filled = list(counts)
    for _ in range(new):
        filled[max(range(len(filled)), key=lambda part: (not filled[part], shares[part] - filled[part]))] += 1
    return filled


def _shares(n: int) -> tuple[tuple[tuple[Split, ...], ...], list[float], str]:
    """Return which splits share files among n groups, their numbers of groups, and a sentence about it."""
    plan, note = next((plan, note) for least, plan, note in _PLANS if n >= least)
    shares = [n * sum(_WEIGHTS[split] for split in splits) / sum(_WEIGHTS.values()) for splits in plan]
    return plan, shares, note


def screen(path: str) -> dict[str, str]:
    """Read an instance file; return its `notes` (lines) and `digest`, or the `failure` that makes it unusable."""
    file, notes = Path(path), list[str]()
    try:
        model = read_model(file, notes)
    except InstanceError as error:
        return {"failure": str(error)}
    # SCIP branches on other constraints itself: special ordered sets, semicontinuous bounds.
    rows = {row.getConshdlrName() for row in model.getConss()} - {"linear", "nonlinear"}
    noted = {"notes": "\n".join(notes)} if notes else {}
    if model.getNBinVars() + model.getNIntVars() == 0 and not rows:
        return {"failure": f"{file.name} has no integer variables, so there is nothing to branch on."} | noted
    return {"digest": digest_of_file(file)} | noted


def screen_all(
    paths: Sequence[Path], kept: Path, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, str]]:
    """Yield the `screen` of each file; those of usable files are cached in the file `kept` until they change."""
    cached: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        cached = json.loads(kept.read_text(encoding="utf-8"))
    answers = {path: answer for path in paths if (answer := cached.get(_key(path))) is not None}
    new = [path for path in paths if path not in answers]
    for path, answer in zip(new, _answers(new), strict=True):
        answers[path] = answer
        if progress is not None:
            progress(len(answers), len(paths))
    if new:
        usable = {_key(path): answer for path, answer in answers.items() if "digest" in answer}
        write_whole(kept, json.dumps(usable))
    yield from (answers[path] for path in paths)


def _key(path: Path) -> str:
    """Return a key that changes with a file, SCIP's version and the code of the checks."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ino} {scip_version()} {_checks()}"


@cache
def _checks() -> str:
    modules = [Path(__file__), *sorted(Path(reader.__file__).parent.glob("*.*"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()[:8]


def _answers(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Yield the `screen` of files; many are read in workers, where SCIP may crash on one."""
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
