"""Whose fault a solve without a result is: the rule's, the model's or the machine's.

The machine's is told from the others by an experiment. Where something other than the rule may have ended its
worker, RPB solves the same instance: if the machine fails RPB too, nothing is known of the rule, and whoever asked
must ask again later; if not, the rule is tried once more, and what happens then counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bife_core.methods.scip import ScipMethod
from bife_core.sandbox import Note, WorkerFailure, Workers
from bife_core.scip.builtin import RPB
from bife_core.solves import SolveJob, SolveOutcome, SolveStore, run_jobs


@dataclass(frozen=True)
class Judged:
    """What became of the solve of one instance with a rule.

    Attributes
    ----------
    rpb_failure : str or None
        Why RPB has no result on the instance either; None where it has one, or was not asked.
    """

    job: SolveJob
    outcome: SolveOutcome
    rpb_failure: str | None = None

    @property
    def rules_fault(self) -> str | None:
        """What the rule did wrong, as a sentence; None if nothing."""
        if self.outcome.failure is None or self.rpb_failure is not None:
            return None
        told = f"{self.job.instance}: {self.outcome.failure}"
        return told if self.outcome.by_rule else f"{told} RPB does not fail there."


def run_judged(
    jobs: Sequence[SolveJob],
    store: SolveStore,
    pool: Workers,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
    *,
    until_unix_s: float | None = None,
) -> list[Judged]:
    """Run the jobs of one rule as `bife_core.solves.run_jobs` does, and say whose fault failures are.

    After an error of the rule's own nothing else is tried, and solves that failed otherwise are left out.

    Raises
    ------
    WorkerFailure
        If the machine fails RPB as well: no worker can be started, say, or the disk is full.
    OutOfTimeError, OSError
        As `run_jobs`.
    """
    outcomes = run_jobs(jobs, store, pool, progress, note, until_unix_s=until_unix_s)
    if any(outcome.by_rule for outcome in outcomes):
        return [
            Judged(job, outcome) for job, outcome in zip(jobs, outcomes, strict=True) if _is_clear(outcome)
        ]
    failed = [position for position, outcome in enumerate(outcomes) if outcome.failure is not None]
    rpb = ScipMethod(name=RPB)
    control = run_jobs([jobs[k].model_copy(update={"methods": (rpb,)}) for k in failed], store, pool)
    for position, outcome in zip(failed, control, strict=True):
        if outcome.by_machine:
            raise WorkerFailure(
                "died", f"{jobs[position].instance} could not be solved: {outcome.failure}", by_machine=True
            )
    under_rpb = {position: outcome.failure for position, outcome in zip(failed, control, strict=True)}
    again = [k for k in failed if outcomes[k].by_machine and under_rpb[k] is None]
    for position, outcome in zip(again, run_jobs([jobs[k] for k in again], store, pool), strict=True):
        outcomes[position] = outcome
    return [Judged(job, outcomes[k], under_rpb.get(k)) for k, job in enumerate(jobs)]


def _is_clear(outcome: SolveOutcome) -> bool:
    return outcome.failure is None or outcome.by_rule
