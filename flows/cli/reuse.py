"""What a run had to pay for, and what earlier runs had already paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.home import project_home

if TYPE_CHECKING:
    from flows.results import PipelineResult


@dataclass(frozen=True)
class Ledger:
    """How much lay in the home at some moment: everything that is paid for is on disk before it is used."""

    collected: int
    written: int
    solved: int

    @classmethod
    def now(cls) -> Ledger:
        """Take stock of the home in use."""
        home = project_home()
        return cls(
            collected=sum(1 for _ in home.decisions.glob("*/parts/*.parquet")),
            written=sum(
                journal.read_bytes().count(b'"kind":"drafted"')
                for journal in home.runs.glob("*/journal.jsonl")
            ),
            solved=sum(1 for _ in home.solves.glob("*/*.json")),
        )

    def spent(self, result: PipelineResult) -> list[tuple[str, str]]:
        """Say what was new since, and what of the result came from earlier runs."""
        after = Ledger.now()
        instances = len(result.collection.summary.instances) if result.collection is not None else 0
        solves = after.solved - self.solved
        return [
            ("instances for decisions", _shares(after.collected - self.collected, instances)),
            ("rules sampled", _shares(after.written - self.written, len(result.evolution.samples))),
            ("solves stored", f"{solves} new" if solves else "none new, all reused"),
        ]


def _shares(new: int, count: int) -> str:
    return f"{min(new, count)} new, {max(count - new, 0)} reused"
