"""What a run had to pay for, and what earlier runs had already paid."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.home import project_home

if TYPE_CHECKING:
    from flows.results import PipelineResult


@dataclass(frozen=True)
class Ledger:
    """How much lay in the home at some moment: everything that is paid for is a file there before it is used."""

    collected: int
    written: int
    solved: int

    @classmethod
    def now(cls) -> Ledger:
        """Take stock of the home in use."""
        home, written = project_home(), Path(os.environ["PREFECT_LOCAL_STORAGE_PATH"])
        places = (
            home.decisions.glob("*/parts/*.parquet"),
            written.glob("propose-*"),
            home.solves.glob("*/*.json"),
        )
        return cls(*(sum(1 for _ in files) for files in places))

    def spent(self, result: PipelineResult) -> list[tuple[str, str]]:
        """Say what was new since, and what of the result came from earlier runs."""
        after = Ledger.now()
        instances = len(result.collection.summary.instances) if result.collection is not None else 0
        solves = after.solved - self.solved
        return [
            ("instances for decisions", _shares(after.collected - self.collected, instances)),
            ("rules sampled", _shares(after.written - self.written, result.evolution.samples)),
            ("solves stored", f"{solves} new" if solves else "none new, all reused"),
        ]


def _shares(new: int, count: int) -> str:
    return f"{min(new, count)} new, {max(count - new, 0)} reused"
