"""MLflow as a subscriber of the store: all studies, and what MLflow lacks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from bife_core.errors import BifeError
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.study.closing import close_left, left_open
from bife_core.values import Value
from tasks.home import project_home
from tasks.stores import home_store
from tasks.tracking import store
from tasks.tracking.evolutions import EvolutionRun
from tasks.tracking.outage import outage, read_cursor, write_cursor
from tasks.tracking.provenance import WHOLE_RUN
from tasks.tracking.records import record_claim, sync_record

GONE = "The process ended; the same command goes on where it stopped."
"""Why a search stopped whose process could not report a reason."""


class Synchronised(Value):
    """What one study's synchronisation gave.

    Attributes
    ----------
    name : str
        Name of the study in lists of runs.
    run_id : str
        Its run; empty where MLflow was not reached.
    samples, traces : int
        How many MLflow lacked and has now.
    left : str
        Why MLflow does not have all of it, as a sentence; empty where it does.
    """

    study: str
    name: str
    run_id: str = ""
    samples: int = 0
    traces: int = 0
    left: str = ""
    notes: tuple[str, ...] = ()


class Waiting(Value):
    """What an MLflow that does not answer lacks.

    Attributes
    ----------
    records : int
        Events of evolutions, and whole records.
    runs : int
        Runs they belong to.
    """

    records: int
    runs: int

    @property
    def count(self) -> str:
        """How many records wait, in words."""
        return "1 record waits" if self.records == 1 else f"{self.records} records wait"

    @property
    def sentence(self) -> str:
        """The same with what follows from it."""
        runs = "1 run is" if self.runs == 1 else f"{self.runs} runs are"
        return (
            f"{self.count} for MLflow: {runs} not, or not whole, there, because {store.tracking_uri()} cannot be "
            f"reached; {home_store().name} has everything, and the next run, the worker or `bife track` writes it "
            "once MLflow answers."
        )


def track(*, rebuild: bool = False) -> Iterator[Synchronised]:
    """Write to our MLflow what it lacks of all studies of the store, one by one.

    Parameters
    ----------
    rebuild : bool
        Whether to set all cursors to zero first: this MLflow may have lost what it had.
    """
    for row in home_store().studies():
        cursor = read_cursor(row.key)
        if rebuild and cursor is not None:
            write_cursor(row.key, 0, cursor[1] or "-")
        if rebuild or cursor is None or row.last > cursor[0]:
            yield _sync(row)


def synchronise(reason: str, *, by_person: bool = False, of: str | None = None) -> Waiting | None:
    """Close the evolutions whose claim no process holds, write to MLflow what waits, and return what is left.

    The calls that such an evolution made are in the store, also those whose answers no event reports.

    Parameters
    ----------
    reason : str
        Why they stopped, as a sentence; it becomes a tag of their runs.
    by_person : bool
        Whether a person stopped them.
    of : str, optional
        Only evolutions of this flow run of Prefect are closed.
    """

    def own(provenance: Mapping[str, str]) -> bool:
        return of is None or provenance.get(WHOLE_RUN) == of

    # A process that closed one before the flow run's end was known gave no better reason than `GONE`.
    known, events = GONE if of is not None else "", home_store()
    for row in (row for row in events.studies("evolution") if left_open(events, row, known)):
        with suppress(ClaimTimeoutError, BifeError), events.claim(_claim(row), timeout_s=0.0):
            folder = project_home().runs / row.key
            closed = close_left(events, folder, reason, by_person=by_person, instead_of=known, whose=own)
            if (
                closed and read_cursor(row.key) is None
            ):  # killed before MLflow had answered for the first time
                write_cursor(row.key, 0, "")
    return synchronise_waiting()


def under_way() -> int:
    """Return how many evolutions a process works on; right after `synchronise`, which closes all others."""
    return sum(left_open(home_store(), row) for row in home_store().studies())


def synchronise_waiting() -> Waiting | None:
    """Write to MLflow what an outage or a kill kept back; return what is left, or None.

    Only studies that this MLflow was told of before are looked at; ``bife track`` looks at all.
    """
    left = [count for count in map(_waiting, home_store().studies()) if count]
    return Waiting(records=sum(left), runs=len(left)) if left else None


def _waiting(row: StudyRow) -> int:
    """Synchronise a study, and return how many of its records wait for an MLflow that does not answer."""
    cursor = read_cursor(row.key)
    if cursor is None or row.last <= cursor[0]:
        return 0
    if not _sync(row, now=False).left or not outage.reason:
        return 0
    seq, _ = read_cursor(row.key) or cursor
    return 1 if row.kind != "evolution" else row.last - seq


def _sync(row: StudyRow, *, now: bool = True) -> Synchronised:
    """Synchronise a study unless a process works on it, which does so itself."""
    try:
        with home_store().claim(_claim(row), timeout_s=0.0):
            if row.kind != "evolution":
                run_id = sync_record(row.key, now=now)
                return Synchronised(
                    study=row.key, name=row.name, run_id=run_id, left="" if run_id else _unreached()
                )
            run = EvolutionRun(row.key)
            whole = run.sync(now=now)
            if whole and run.under_way:
                # No process holds its claim, and its events report no end: it was killed.
                run.interrupt(GONE)
            return Synchronised(
                study=row.key,
                name=row.name,
                run_id=run.run_id,
                samples=run.samples,
                traces=run.traces,
                left="" if whole else _unreached(),
                notes=run.notes,
            )
    except ClaimTimeoutError:
        left = "A process works on it, and writes it to MLflow."
    except (BifeError, ValueError) as error:
        left = str(error)
    return Synchronised(study=row.key, name=row.name, left=left)


def _claim(row: StudyRow) -> str:
    return f"evolution {row.key}" if row.kind == "evolution" else record_claim(row.key)


def _unreached() -> str:
    return f"MLflow at {store.tracking_uri()} cannot be reached ({outage.reason})."
