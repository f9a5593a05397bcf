"""A directory of the user's own models, split once and for all by what the files hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bife_core.benchmarks.base import SPLITS, Instance, Split
from bife_core.benchmarks.screening import ModelFacts, screen
from bife_core.errors import ConfigError, InstanceError
from bife_core.scip.reading import EXPECTED_FILES, model_format

_WEIGHTS: dict[Split, int] = {"collection": 3, "design": 3, "validation": 2, "test": 4}
"""Shares of the splits, in twelfths."""

_PLANS: tuple[tuple[int, tuple[tuple[Split, ...], ...], str], ...] = (
    (12, (("collection",), ("design",), ("validation",), ("test",)), ""),
    (
        3,
        (("collection", "design"), ("validation",), ("test",)),
        "With fewer than 12 usable models ({n} here), decisions are recorded on design models.",
    ),
    (
        2,
        (("collection", "design", "validation"), ("test",)),
        "With two usable models, one is collection, design and validation, and the other is the only test.",
    ),
    (
        1,
        (SPLITS,),
        "With a single usable model, the test result is measured on the very model used for design and says "
        "nothing about others.",
    ),
)
"""From how many models on a plan holds, which splits share files under it, and what to tell the user."""

_REASONS_SHOWN = 3


@dataclass(frozen=True)
class FolderBenchmark:
    """Models found in a directory and its sub-directories.

    Attributes
    ----------
    name : str
        Name of the directory.
    parts : dict of tuple of Instance
        Instances of each split; none is empty.
    notes : tuple of str
        Sentences on how far the result reaches: files shared between splits, equal files, models without
        integer variables.
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


def open_folder(folder: Path, seed: int = 0) -> FolderBenchmark:
    """Screen the models of a directory and split them.

    Sub-directories are searched too; names that start with a dot are passed over, and so is everything that
    is not called ``.mps``, ``.lp`` or ``.cip`` (or that with ``.gz``). Files of equal content count once.
    The order in which models are dealt out comes from a hash of `seed` and their content: neither renaming
    nor moving nor touching the files changes the split. Of every 12 models, 3 go to collection, 3 to
    design, 2 to validation and 4 to test; below 12 some splits share files:

    - 3 to 11 models: collection and design are the same models;
    - 2 models: one is collection, design and validation, the other is test;
    - 1 model: it is all four.

    Models that are discrete without integer variables go to test: a rule can learn nothing on them, as SCIP
    branches there on constraints.

    Parameters
    ----------
    folder : Path
        The directory.
    seed : int
        Chooses another split.

    Returns
    -------
    FolderBenchmark
        The split, with `left_out` and `notes` for the user.

    Raises
    ------
    InstanceError
        If `folder` is not a directory or holds no usable model.
    """
    folder = folder.absolute()
    usable: dict[str, tuple[str, Path, ModelFacts]] = {}
    left_out: list[tuple[Path, str]] = []
    notes: list[str] = []
    files = _model_files(folder)
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            facts = screen(path)
        except InstanceError as error:
            left_out.append((path, str(error)))
            continue
        if facts.digest in usable:
            notes.append(
                f"{name} has the same content as {usable[facts.digest][0]} and is not counted again."
            )
        else:
            usable[facts.digest] = (name, path, facts)

    def dealt(entry: tuple[str, Path, ModelFacts]) -> str:
        return hashlib.sha256(f"{seed}:{entry[2].digest}".encode()).hexdigest()

    ordered = sorted(usable.values(), key=dealt)
    steered = [Instance(name, path, facts.digest) for name, path, facts in ordered if facts.n_integer]
    others = [Instance(name, path, facts.digest) for name, path, facts in ordered if not facts.n_integer]
    if not steered:
        raise InstanceError(_nothing_usable(folder, files, left_out, others))
    parts, sharing = _split(steered)
    parts["test"] += tuple(others)
    notes += [
        f"{instance.name} has no integer variables: SCIP branches on constraints and asks no rule."
        for instance in others
    ]
    return FolderBenchmark(
        name=folder.resolve().name,
        parts=parts,
        notes=tuple([sharing] if sharing else []) + tuple(notes),
        left_out=tuple(left_out),
    )


def _model_files(folder: Path) -> list[Path]:
    files: list[Path] = []
    try:
        if not folder.exists():
            raise InstanceError(f"There is no folder {folder}.")
        if not folder.is_dir():
            raise InstanceError(f"{folder} is a file, but a folder of models is expected.")
        for directory, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found = [Path(directory, name) for name in names if not name.startswith(".")]
            files += [path for path in found if model_format(path) is not None]
    except OSError as error:
        raise InstanceError(f"{error.filename} cannot be listed: {error.strerror or error}.") from error
    if not files:
        raise InstanceError(f"{folder} holds no model, not even in a sub-folder; expected {EXPECTED_FILES}.")
    return sorted(files)


def _raise(error: OSError) -> None:
    raise error


def _nothing_usable(
    folder: Path, files: Sequence[Path], left_out: Sequence[tuple[Path, str]], others: Sequence[Instance]
) -> str:
    reasons = [reason.removesuffix(".") for _, reason in left_out]
    reasons += [f"{instance.name} has no integer variables for a rule to branch on" for instance in others]
    if len(reasons) > _REASONS_SHOWN:
        rest = len(reasons) - _REASONS_SHOWN
        reasons = [*reasons[:_REASONS_SHOWN], f"and {rest} more"]
    count = "The only model file" if len(files) == 1 else f"None of the {len(files)} model files"
    cannot = "cannot" if len(files) == 1 else "can"
    return f"{count} in {folder} {cannot} be used: {'; '.join(reasons)}."


def _split(instances: Sequence[Instance]) -> tuple[dict[Split, tuple[Instance, ...]], str]:
    """Deal out at least one instance; return the splits and the sentence about those that share files."""
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
