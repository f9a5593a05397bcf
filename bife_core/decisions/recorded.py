"""Recorded strong-branching decisions: one row per candidate, in a columnar file anyone can read.

The file is Parquet: ``pandas.read_parquet(path)`` gives a table with one row per candidate, the columns `instance`,
`decision`, `node`, `depth`, `probindex`, `score`, and one column per feature under its name. The schema version
and a digest of the content stand in the file's metadata.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bife_core.errors import DecisionsError
from bife_core.features import FEATURES, N_FEATURES
from bife_core.files import write_whole

SCHEMA_VERSION: Final = "1"
_SCORE_TOLERANCE: Final = 1e-9
"""Relative distance to the best score within which a candidate counts as best too."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions with the scores of all their candidates, ties kept.

    Attributes
    ----------
    columns : (N_FEATURES, n_rows) float64, C-contiguous
        Features, one row per feature: scoring a rule then reads only what the rule reads.
    scores : (n_rows,) float64
        Strong-branching score of every candidate.
    offsets : (n_decisions + 1,) int64
        Decision t owns the rows from ``offsets[t]`` up to ``offsets[t + 1]``.
    probindex : (n_rows,) int32
        Candidate's position among the variables of its transformed problem.
    node, depth : (n_decisions,) int64
        Where in the tree the decision was taken.
    instance : tuple of str
        Name of the instance of each decision.
    """

    columns: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    probindex: npt.NDArray[np.int32]
    node: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int64]
    instance: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_candidates(self) -> int:
        """Rows over all decisions."""
        return len(self.scores)

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """Features as (n_rows, N_FEATURES), C-contiguous; a copy."""
        return np.ascontiguousarray(self.columns.T)

    @property
    def best(self) -> npt.NDArray[np.bool_]:
        """Which rows carry the best score of their decision, up to a relative 1e-9."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.bool_)
        highest = np.maximum.reduceat(self.scores, self.offsets[:-1])
        threshold = highest - _SCORE_TOLERANCE * np.abs(highest)
        return self.scores >= np.repeat(threshold, np.diff(self.offsets))

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
        for array in (self.columns, self.scores, self.offsets, self.probindex, self.node, self.depth):
            content.update(np.ascontiguousarray(array).tobytes())
        content.update("\n".join(self.instance).encode())
        return content.hexdigest()[:16]

    def take(self, count: int) -> Decisions:
        """Return the first `count` decisions."""
        rows = self.offsets[min(count, len(self))]
        return Decisions(
            np.ascontiguousarray(self.columns[:, :rows]),
            self.scores[:rows],
            self.offsets[: count + 1],
            self.probindex[:rows],
            self.node[:count],
            self.depth[:count],
            self.instance[:count],
        )

    def save(self, path: Path) -> None:
        """Write the file at once or not at all."""
        sizes = np.diff(self.offsets)
        table = pa.table(
            {
                "instance": pa.array(self.instance, pa.string()).take(
                    pa.array(np.repeat(np.arange(len(self)), sizes))
                ),
                "decision": np.repeat(np.arange(len(self)), sizes),
                "node": np.repeat(self.node, sizes),
                "depth": np.repeat(self.depth, sizes),
                "probindex": self.probindex,
                "score": self.scores,
                **{feature.name: self.columns[feature.index] for feature in FEATURES},
            }
        )
        table = table.replace_schema_metadata({"bife_schema": SCHEMA_VERSION, "bife_digest": self.digest})
        content = pa.BufferOutputStream()
        pq.write_table(table, content, compression="zstd")
        write_whole(path, content.getvalue().to_pybytes())

    @classmethod
    def load(cls, path: str | Path) -> Decisions:
        """Read a file that `save` wrote.

        Raises
        ------
        DecisionsError
            If the file is missing, is no such file, has another schema version, or its content has changed.
        """
        path = Path(path)
        if not path.is_file():
            raise DecisionsError(f"There is no decisions file {path}; `bife collect` makes one.")
        try:
            table = pq.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise DecisionsError(f"{path} is not a readable Parquet file: {error}") from error
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        found = metadata.get("bife_schema")
        if found != SCHEMA_VERSION:
            raise DecisionsError(
                f"{path} has decisions schema {found or 'none'}, this version reads {SCHEMA_VERSION}; "
                "collect the decisions again."
            )
        unknown = [feature.name for feature in FEATURES if feature.name not in table.column_names]
        if unknown:
            raise DecisionsError(
                f"{path} was recorded without the features {', '.join(unknown)}; collect the decisions again."
            )
        decision = table["decision"].to_numpy()
        starts = np.flatnonzero(np.diff(decision, prepend=-1))
        offsets = np.append(starts, len(decision)).astype(np.int64)
        columns = np.empty((N_FEATURES, len(decision)))
        for feature in FEATURES:
            columns[feature.index] = table[feature.name].to_numpy()
        decisions = cls(
            columns,
            table["score"].to_numpy(),
            offsets,
            table["probindex"].to_numpy(),
            table["node"].to_numpy()[starts],
            table["depth"].to_numpy()[starts],
            tuple(table["instance"].take(pa.array(starts)).to_pylist()),
        )
        if decisions.digest != metadata.get("bife_digest"):
            raise DecisionsError(f"The content of {path} does not match its digest; collect it again.")
        return decisions


def concatenate(parts: Sequence[Decisions]) -> Decisions:
    """Join decisions in the given order; no part at all gives no decisions."""
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return Decisions(
            np.zeros((N_FEATURES, 0)),
            np.zeros(0),
            np.zeros(1, dtype=np.int64),
            np.zeros(0, dtype=np.int32),
            empty,
            empty,
            (),
        )
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return Decisions(
        np.concatenate([part.columns for part in parts], axis=1),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([part.probindex for part in parts]),
        np.concatenate([part.node for part in parts]),
        np.concatenate([part.depth for part in parts]),
        tuple(name for part in parts for name in part.instance),
    )
