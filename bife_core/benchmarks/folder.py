"""A directory of the user's own instances, split once and for all by what the files hold."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bife_core.benchmarks.base import SPLITS, Instance, Split
from bife_core.benchmarks.screening import ARCHIVES, ModelFacts, screen_all, unpacked
from bife_core.errors import ConfigError, InstanceError
from bife_core.scip.reading import EXPECTED_FILES, model_format

_WEIGHTS: dict[Split, int] = {"collection": 3, "design": 3, "validation": 2, "test": 4}
"""Shares of the splits, in twelfths."""

_PLANS: tuple[tuple[int, tuple[tuple[Split, ...], ...], str], ...] = (
    (12, (("collection",), ("design",), ("validation",), ("test",)), ""),
    (
        3,
        (("collection", "design"), ("validation",), ("test",)),
        "With fewer than 12 usable instances ({n} here), decisions are recorded on design instances.",
    ),
    (
        2,
        (("collection", "design", "validation"), ("test",)),
        "With two usable instances, one is collection, design and validation, and the other is the only test.",
    ),
    (
        1,
        (SPLITS,),
        "With a single usable instance, the test result is measured on the very instance used for design and says "
        "nothing about others.",
    ),
)
"""From how many instances on a plan holds, which splits share files under it, and what to tell the user."""

_NAMED: dict[str, Split] = {
    "train": "design",
    "training": "design",
    "valid": "validation",
    "validation": "validation",
    "val": "validation",
    "test": "test",
    "testing": "test",
}
"""Folders and tables whose instances keep their split; of those for training, half are for collection."""

_REASONS_SHOWN = 3
_MOST_NAMED = 20
"""Files left out that are named each; further ones are counted."""

_UNLIKE = 20
"""How many times as many variables the largest instance has as the smallest where they are hardly of one kind."""


@dataclass(frozen=True)
class FolderBenchmark:
    """Instances found in a directory and its sub-directories.

    Attributes
    ----------
    name : str
        Name of the directory.
    parts : dict of tuple of Instance
        Instances of each split; none is empty.
    notes : tuple of str
        Sentences on how far the result reaches: what is left out, files shared between splits, equal files,
        instances without integer variables.
    left_out : tuple of (Path, str)
        Files that cannot be used, each with the sentence why.
    """

    name: str
    parts: dict[Split, tuple[Instance, ...]]
    notes: tuple[str, ...]
    left_out: tuple[tuple[Path, str], ...]

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return the first `count` instances of `split`, or all if there are fewer.

        Raises
        ------
        ConfigError
            If there is no such split.
        """
        if split not in self.parts:
            raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
        return list(self.parts[split][:count])


def open_folder(
    folder: Path, cache_dir: Path, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> FolderBenchmark:
    """Screen the instances of a directory and split them.

    Sub-directories, zip archives and tables of instances (``.csv``) are searched too; names that start with a dot are
    passed over, and so is everything that SCIP does not read by its name. Files of equal content count once.

    Where there are instances in folders (or archives, or tables) called ``train`` and ``valid`` or ``test``, they keep
    their split: validation and test are what is called so, collection and design share what is left. Everywhere else
    the order in which instances are split comes from a hash of `seed` and their content: neither renaming
    nor moving nor touching the files changes the split. Of every 12 instances, 3 go to collection, 3 to
    design, 2 to validation and 4 to test; below 12 some splits share files:

    - 3 to 11 instances: collection and design are the same instances;
    - 2 instances: one is collection, design and validation, the other is test;
    - 1 instance: it is all four.

    Instances that are discrete without integer variables go to test: a rule can learn nothing on them, as SCIP
    branches there on constraints.

    Parameters
    ----------
    folder : Path
        The directory.
    cache_dir : Path
        Where unpacked instances are kept, and what is known of instances.
    seed : int
        Chooses another split.
    progress : callable, optional
        Called with (instances screened, instances in all) while instances are looked at for the first time.

    Returns
    -------
    FolderBenchmark
        The split, with `left_out` and `notes` for the user.

    Raises
    ------
    InstanceError
        If `folder` is not a directory or holds no usable instance.
    """
    folder = folder.absolute()
    usable: dict[str, tuple[str, Path, ModelFacts]] = {}
    notes: list[str] = []
    unpacking = cache_dir / "unpacked"
    files, left_out = _model_files(folder, unpacking)
    known = cache_dir / "screened" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.json"
    screened = screen_all(list(files.values()), known, progress)
    for (name, path), facts in zip(files.items(), screened, strict=True):
        if isinstance(facts, str):
            left_out.append((path, facts))
            continue
        if facts.doubt is not None:
            notes.append(facts.doubt)
        if facts.digest in usable:
            notes.append(
                f"{name} has the same content as {usable[facts.digest][0]} and is not counted again."
            )
        else:
            usable[facts.digest] = (name, path, facts)

    def order(entry: tuple[str, Path, ModelFacts]) -> str:
        return hashlib.sha256(f"{seed}:{entry[2].digest}".encode()).hexdigest()

    ordered = sorted(usable.values(), key=order)
    found = {name: Instance(name, path, facts.digest) for name, path, facts in ordered}
    steered = [found[name] for name, _, facts in ordered if facts.n_integer]
    others = [found[name] for name, _, facts in ordered if not facts.n_integer]
    if not steered:
        raise InstanceError(_nothing_usable(folder, left_out, others))
    parts, sharing = _as_arranged(steered) or _split(steered)
    parts["test"] += tuple(others)
    sizes = [facts.n_vars for _, _, facts in ordered if facts.n_integer]
    if max(sizes) >= _UNLIKE * min(sizes):
        notes.append(
            f"The instances are unlike each other, with {min(sizes):,} to {max(sizes):,} variables: one rule hardly "
            "suits them all, and folders of one kind each promise more."
        )
    notes += [
        f"{instance.name} has no integer variables: SCIP branches on constraints and asks no rule."
        for instance in others
    ]
    more = len(left_out) - _MOST_NAMED
    return FolderBenchmark(
        name=folder.resolve().name,
        parts=parts,
        notes=(
            *(f"Left out: {reason}" for _, reason in left_out[:_MOST_NAMED]),
            *([f"{more} more files were left out."] if more > 0 else ()),
            *([sharing] if sharing else ()),
            *notes,
        ),
        left_out=tuple(left_out),
    )


def _model_files(folder: Path, unpacking: Path) -> tuple[dict[str, Path], list[tuple[Path, str]]]:
    """Return the instance files by name, those in archives too, and the archives that cannot be unpacked."""
    files, archives = _found(folder)
    named = {path.relative_to(folder).as_posix(): path for path in files}
    left_out: list[tuple[Path, str]] = []
    for archive in archives:
        try:
            inside = unpacked(archive, unpacking)
        except InstanceError as error:
            left_out.append((archive, str(error)))
            continue
        if inside is not None:
            name = archive.relative_to(folder).as_posix()
            named |= {f"{name}/{path.relative_to(inside).as_posix()}": path for path in _found(inside)[0]}
    if not named and not left_out:
        raise InstanceError(
            f"{folder} holds no instance, not even in a sub-folder; expected {EXPECTED_FILES}."
        )
    return dict(sorted(named.items())), left_out


def _found(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files below a folder that are instances by their names, and those that may hold some."""
    files: list[Path] = []
    archives: list[Path] = []
    try:
        if not folder.exists():
            raise InstanceError(f"There is no folder {folder}.")
        if not folder.is_dir():
            raise InstanceError(f"{folder} is a file, but a folder of instances is expected.")
        seen: set[str] = set()
        for directory, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
            # A link may lead back to where it lies.
            if (real := os.path.realpath(directory)) in seen:
                folders.clear()
                continue
            seen.add(real)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found = [Path(directory, name) for name in names if not name.startswith(".")]
            files += [path for path in found if model_format(path) is not None]
            archives += [path for path in found if path.suffix.lower() in ARCHIVES]
    except OSError as error:
        raise InstanceError(f"{error.filename} cannot be listed: {error.strerror or error}.") from error
    return sorted(files), sorted(archives)


def _raise(error: OSError) -> None:
    raise error


def _nothing_usable(folder: Path, left_out: Sequence[tuple[Path, str]], others: Sequence[Instance]) -> str:
    reasons = [reason.removesuffix(".") for _, reason in left_out]
    reasons += [f"{instance.name} has no integer variables for a rule to branch on" for instance in others]
    count = len(reasons)
    if count > _REASONS_SHOWN:
        rest = count - _REASONS_SHOWN
        reasons = [*reasons[:_REASONS_SHOWN], f"and {rest} more"]
    files = "The only instance file" if count == 1 else f"None of the {count} instance files"
    cannot = "cannot" if count == 1 else "can"
    return f"{files} in {folder} {cannot} be used: {'; '.join(reasons)}."


def _as_arranged(instances: Sequence[Instance]) -> tuple[dict[Split, tuple[Instance, ...]], str] | None:
    """Return the splits the names of folders speak of; None where they speak of none."""
    groups: dict[Split, list[Instance]] = {"design": [], "validation": [], "test": []}
    for instance in instances:
        *folders, _ = (Path(part).stem.lower() for part in Path(instance.name).parts)
        named = [_NAMED[name] for name in folders if name in _NAMED]
        groups[named[-1] if named else "design"].append(instance)
    training, validation, test = groups["design"], groups["validation"], groups["test"]
    if not training or not (validation or test):
        return None
    if not test:  # competitions keep it back
        test, validation = validation, []
    if not validation:
        kept_back = len(training) // 4
        validation, training = (
            (training[:kept_back], training[kept_back:]) if kept_back else (training, training)
        )
    half = len(training) // 2
    collection, design = (training[:half], training[half:]) if half else (training, training)
    parts: dict[Split, list[Instance]] = {
        "collection": collection,
        "design": design,
        "validation": validation,
        "test": test,
    }
    counts = ", ".join(f"{len(part)} {split}" for split, part in parts.items())
    note = f"Instances keep the split their folders name ({counts})."
    held = Counter(instance.digest for part in parts.values() for instance in part)
    if shared := [split for split, part in parts.items() if any(held[one.digest] > 1 for one in part)]:
        listed = f"{', '.join(shared[:-1])} and {shared[-1]}"
        note += f" There are too few for training to keep {listed} apart: they share instances."
    return {split: tuple(part) for split, part in parts.items()}, note


def _split(instances: Sequence[Instance]) -> tuple[dict[Split, tuple[Instance, ...]], str]:
    """Split at least one instance; return the splits and the sentence about those that share files."""
    n = len(instances)
    groups, sharing = next((groups, note) for least, groups, note in _PLANS if n >= least)
    shares = [n * sum(_WEIGHTS[split] for split in group) / sum(_WEIGHTS.values()) for group in groups]
    counts = [max(1, int(share)) for share in shares]
    for _ in range(n - sum(counts)):
        neediest = max(range(len(groups)), key=lambda g: shares[g] - counts[g])
        counts[neediest] += 1
    parts: dict[Split, tuple[Instance, ...]] = {}
    begin = 0
    for group, count in zip(groups, counts, strict=True):
        for split in group:
            parts[split] = tuple(instances[begin : begin + count])
        begin += count
    return parts, sharing.format(n=n)
