"""Recorded branching decisions with the strong-branching scores of their candidates, in a file of NumPy arrays."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bife_core.base.arguments import checked
from bife_core.base.errors import DecisionsError
from bife_core.base.files import write_whole
from bife_core.language.features import FEATURES
from bife_core.language.syntax import undisturbed

SCHEMA_VERSION: Final = "2"
SCORE_TOLERANCE: Final = 1e-9
"""Relative distance to the best score within which a candidate counts as best too."""
_OF_CANDIDATES: Final = {
    "columns": np.zeros((len(FEATURES), 0)),
    "scores": np.zeros(0),
    "gains": np.zeros((2, 0)),
    "probindex": np.zeros(0, np.int32),
}
_OF_DECISIONS: Final = {"node": np.zeros(0, np.int64), "depth": np.zeros(0, np.int64), "room": np.zeros(0)}
"""Arrays of `Decisions` by their last axis, candidates or decisions, with no items."""
_ARRAYS: Final = (*_OF_CANDIDATES, "offsets", *_OF_DECISIONS)
_NAMES: Final = [feature.name for feature in FEATURES]
_UNREADABLE: Final = (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile)
"""What NumPy raises for a file of another format."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions with the scores of all their candidates, ties kept.

    Attributes
    ----------
    columns : (n_features, n_rows) float64, C-contiguous
        One row per feature, so that scoring a rule reads only its features; `n_rows` counts all candidates.
    scores : (n_rows,) float64
        Strong-branching scores.
    gains : (2, n_rows) float64
        Gains of the dual bound in the down child and in the up child, `room` at most.
    offsets : (n_decisions + 1,) int64
        Decision t has the rows from ``offsets[t]`` up to ``offsets[t + 1]``.
    probindex : (n_rows,) int32
        Positions among the variables of the transformed problem.
    node, depth : (n_decisions,) int64
        Number and depth of the node.
    room : (n_decisions,) float64
        Gain at which a child is cut off by the incumbent; SCIP's infinity without one.
    instance : tuple of str
        Names of the instances.
    """

    columns: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    probindex: npt.NDArray[np.int32]
    node: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int64]
    room: npt.NDArray[np.float64]
    instance: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_candidates(self) -> int:
        """Rows over all decisions."""
        return len(self.scores)

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """Features as (n_rows, n_features), C-contiguous; a copy."""
        return np.ascontiguousarray(self.columns.T)

    @property
    def best(self) -> npt.NDArray[np.bool_]:
        """Which rows carry the best score of their decision, up to a relative 1e-9."""
        highest = np.maximum.reduceat(self.scores, self.offsets[:-1])
        threshold = highest - SCORE_TOLERANCE * np.abs(highest)
        return self.scores >= np.repeat(threshold, np.diff(self.offsets))

    @property
    def pruned(self) -> npt.NDArray[np.bool_]:
        """Which nodes were pruned: both children of some candidate were cut off."""
        return self._most_cut_off >= 2

    @property
    def tightenable(self) -> npt.NDArray[np.bool_]:
        """Which other nodes could have tightened a bound instead: one child of some candidate was cut off."""
        return ~(self.pruned | self.genuine)

    @property
    def genuine(self) -> npt.NDArray[np.bool_]:
        """Which decisions had to branch: no child of any candidate was cut off."""
        return self._most_cut_off < 1

    @property
    def _most_cut_off(self) -> npt.NDArray[np.int64]:
        """Largest number of cut-off children of a candidate, by decision."""
        cut_off = self.gains >= np.repeat(self.room, np.diff(self.offsets))
        return np.maximum.reduceat(cut_off.sum(axis=0), self.offsets[:-1])

    @property
    def tie_share(self) -> float:
        """Share of decisions where more than one candidate has the best score."""
        if len(self) == 0:
            return 0.0
        return float(np.mean(np.add.reduceat(self.best, self.offsets[:-1]) > 1))

    @property
    def digest(self) -> str:
        """Hash of everything that `save` writes; 16 hexadecimal digits."""
        content = hashlib.sha256(SCHEMA_VERSION.encode())
        for name in _ARRAYS:
            content.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        content.update("\n".join(self.instance).encode())
        return content.hexdigest()[:16]

    @checked
    def __getitem__(self, part: slice) -> Decisions:
        """Return some consecutive decisions."""
        begin, end, _ = part.indices(len(self))
        first, last = self.offsets[begin], self.offsets[end]
        arrays: dict[str, Any] = {
            name: np.ascontiguousarray(getattr(self, name)[..., first:last]) for name in _OF_CANDIDATES
        } | {name: getattr(self, name)[begin:end] for name in _OF_DECISIONS}
        return Decisions(
            **arrays, offsets=self.offsets[begin : end + 1] - first, instance=self.instance[begin:end]
        )

    @checked
    def save(self, path: Path) -> None:
        """Write the file at once or not at all."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"instance": np.array(self.instance, dtype=np.str_), "features": np.array(_NAMES)}
        arrays |= {"schema": SCHEMA_VERSION, "digest": self.digest, "size": self.columns.size}
        write_arrays(path, arrays)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Decisions:
        """Read a file that `save` wrote; a `DecisionsError` says why it cannot be used."""
        path = Path(path)
        if not path.is_file():
            raise DecisionsError(f"There is no decisions file {path}; `bife collect` makes one.")
        try:
            content = read_arrays(path)
        except _UNREADABLE as error:
            raise DecisionsError(f"{path} is not a readable file of decisions: {error}") from error
        schema = str(content.pop("schema", "none"))
        if schema != SCHEMA_VERSION:
            why = f"schema {schema}, this version reads {SCHEMA_VERSION}; collect the decisions again."
            raise DecisionsError(f"{path} has decisions {why}")
        if missing := sorted(set(_NAMES) - set(content["features"].tolist())):
            why = f"without the features {', '.join(missing)}; collect the decisions again."
            raise DecisionsError(f"{path} was recorded {why}")
        arrays = {name: content[name] for name in _ARRAYS}
        decisions = cls(**arrays, instance=tuple(content["instance"].tolist()))
        if decisions.digest != str(content["digest"]):
            raise DecisionsError(f"The content of {path} does not match its digest; collect it again.")
        return decisions


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays by name to a file, at once or not at all."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_whole(path, content.getvalue())


def read_arrays(path: Path, *names: str) -> dict[str, Any]:
    """Return arrays of a file by name; all of them without `names`."""

    def read() -> dict[str, Any]:
        with path.open("rb") as stream, np.load(stream) as file:
            return {name: file[name] for name in names or file.files}

    return undisturbed(read)


def numbers_in(path: Path) -> int:
    """Return how many numbers `columns` of a file has, for an estimate of its memory; raise `DecisionsError`."""
    try:
        return int(read_arrays(path, "size")["size"])
    except (*_UNREADABLE, KeyError) as error:
        why = getattr(error, "strerror", None) or error
        raise DecisionsError(f"{path} cannot be read: {why}.") from error


def concatenate(parts: Sequence[Decisions]) -> Decisions:
    """Join decisions in order."""
    sizes = [np.diff(part.offsets) for part in parts]
    arrays: dict[str, Any] = {
        name: np.concatenate([empty, *(getattr(part, name) for part in parts)], axis=-1)
        for name, empty in (_OF_CANDIDATES | _OF_DECISIONS).items()
    }
    return Decisions(
        **arrays,
        offsets=np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int64),
        instance=tuple(name for part in parts for name in part.instance),
    )
