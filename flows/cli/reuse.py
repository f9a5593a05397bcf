"""What a run had to pay for, and what earlier runs had already paid."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.home import Home, project_home

if TYPE_CHECKING:
    from flows.results import PipelineResult


@dataclass(frozen=True)
class Ledger:
    """What lay in the home at some moment: everything that is paid for is a file there before it is used."""

    collected: frozenset[Path]
    written: frozenset[Path]
    solved: frozenset[Path]

    @classmethod
    def now(cls) -> Ledger:
        """Take stock of the home in use."""
        home = project_home()
        return cls(*(frozenset(found) for found in _files(home)))

    def spent(self, result: PipelineResult) -> list[tuple[str, str]]:
        """Say what was new since, and what of the result came from earlier runs."""
        after = Ledger.now()
        needed = (
            ("instances for decisions", _instances(result), "collected"),
            ("rules sampled", result.evolution.samples, "written"),
        )
        rows = [
            (what, _shares(min(count, len(getattr(after, kind) - getattr(self, kind))), count))
            for what, count, kind in needed
        ]
        solves = len(after.solved - self.solved)
        return [*rows, ("solves stored", f"{solves} new" if solves else "none new, all reused")]


def _instances(result: PipelineResult) -> int:
    return len(result.collection.summary.instances) if result.collection is not None else 0


def _files(home: Home) -> Iterator[Iterator[Path]]:
    yield home.decisions.glob("*/parts/*.parquet")
    yield Path(os.environ["PREFECT_LOCAL_STORAGE_PATH"]).glob("propose-*")
    yield home.solves.glob("*/*.json")


def _shares(new: int, count: int) -> str:
    return f"{new} new, {count - new} reused"
