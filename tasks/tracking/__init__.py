"""MLflow as a subscriber of the store: it reads the events of each study after its cursor and writes them by key.

Writing an event again changes nothing, so an outage, a killed process and an MLflow that lost everything are treated
alike: what is after the cursor is written by the next generation, the next run, the worker or ``bife track``.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

from mlflow.exceptions import MlflowException

from bife_core.errors import BifeError
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.study.closing import close_left, left_open
from bife_core.study.journal import Opened, read_journal
from bife_core.values import Value
from tasks.home import project_home
from tasks.stores import home_store, note
from tasks.tracking import provenance, store
from tasks.tracking.store import TrackingError, tracking_uri
from tasks.tracking.writer import EvolutionWriter, Record, write_record

__all__ = [
    "GONE",
    "EvolutionRun",
    "Record",
    "Synchronised",
    "Waiting",
    "synchronise",
    "synchronise_open",
    "track",
    "track_record",
    "under_way",
]

T = TypeVar("T")

GONE: Final = "The process ended; the same command goes on where it stopped."
"""Why a search stopped whose process could not report a reason."""

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach an MLflow that is away: the search waits for each attempt."""


class _Outage:
    """Whether MLflow is away; a person who watches the run reads once that it went, and once that it is back."""

    reason = ""
    retry_at_s = 0.0

    def reach(self, write: Callable[[], T], *, now: bool) -> T | None:
        """Write and return the result; None if MLflow does not answer, or did not a moment ago and `now` is false."""
        if not now and time.monotonic() < self.retry_at_s:
            return None
        try:
            written = write()
        except (*store.TRACKING_TROUBLE, TrackingError) as error:
            if store.refuses(error):
                raise
            before, self.reason = self.reason, store.first_line(error)
            self.retry_at_s = time.monotonic() + RETRY_S
            if not before:
                note(
                    f"MLflow at {tracking_uri()} does not take records ({self.reason}); the run goes on, and the store "
                    "keeps them until it does."
                )
            return None
        if self.reason:
            note(f"MLflow at {tracking_uri()} takes records again.")
        self.reason, self.retry_at_s = "", 0.0
        return written


outage = _Outage()
_open: WeakSet[EvolutionRun] = WeakSet()


class EvolutionRun:
    """Keeps the run of an evolution in MLflow up to date; an MLflow that fails stops no search.

    Only the process that holds the evolution's claim may use it. `run_id` is the parent run, empty until MLflow has
    been reached; `samples` and `traces` count what this object wrote, and `notes` say what MLflow refused.
    """

    def __init__(self, study: str) -> None:
        self.study, self.run_id = study, ""
        self.samples = self.traces = 0
        self.notes: tuple[str, ...] = ()
        self._writer: EvolutionWriter | None = None
        self._read = self._written = 0
        self._lock = threading.RLock()
        _open.add(self)

    def sync(self, *, now: bool = False) -> bool:
        """Write the events that MLflow lacks, and return whether it has all; `now` asks it however recently it failed.

        Raises
        ------
        JournalError
            If an event cannot be read.
        """
        with self._lock:
            if next(home_store().events(self.study, self._read), None) is None:
                return True
            if _cursor(self.study) is None:
                home_store().set_cursor(_subscriber(), self.study, 0)
            try:
                return outage.reach(self._write, now=now) or False
            except (MlflowException, TrackingError) as error:
                self.notes += (f"MLflow refused the study {self.study} ({store.first_line(error)}).",)
                return False

    def _write(self) -> bool:
        events = list(read_journal(home_store(), self.study, self._read))
        if self._writer is None:
            opened = events[0][0]
            if not isinstance(opened, Opened):
                raise TrackingError(f"The first event of {self.study} does not say which search it is.")
            self._writer = EvolutionWriter(opened)
            seq, run_id = _cursor(self.study) or (0, "")
            # The cursor of a run that was deleted, or that MLflow lost, is of no use for another.
            self.run_id, self._written = self._writer.run_id, seq if run_id == self._writer.run_id else 0
        writer, whole = self._writer, False
        try:
            writer.write(events, self._written)
            whole = True
        finally:
            self.samples, self.traces = self.samples + writer.samples, self.traces + writer.traces
            self.notes += tuple(writer.notes)
            writer.samples = writer.traces = 0
            writer.notes.clear()
            if not whole:
                # What was written at that moment may have arrived: the next contact looks it up.
                self._writer, self._read = None, 0
        self._read = self._written = events[-1][1]
        home_store().set_cursor(_subscriber(), self.study, self._read, self.run_id)
        return True


def synchronise_open() -> None:
    """Write what MLflow lacks of the evolutions that this process works on, as before it is stopped."""
    for run in list(_open):
        with suppress(BifeError):
            run.sync()


class Synchronised(Value):
    """What MLflow lacked of a study and has now; `left` says why it does not have all, and is empty where it does."""

    study: str
    name: str
    samples: int = 0
    traces: int = 0
    left: str = ""
    notes: tuple[str, ...] = ()


class Waiting(Value):
    """What an MLflow that does not answer lacks: so many events, of so many runs."""

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
            f"{self.count} for MLflow: {runs} not, or not whole, there, because {tracking_uri()} cannot be reached; "
            f"{home_store().name} has everything, and the next run, the worker or `bife track` writes it once MLflow "
            "answers."
        )


def track(*, rebuild: bool = False) -> Iterator[Synchronised]:
    """Write to our MLflow what it lacks of all studies of the store, or with `rebuild` all events, one study by one."""
    for row in home_store().studies():
        _close(row, GONE)
    for row in home_store().studies():
        cursor = _cursor(row.key)
        if rebuild and cursor is not None:
            home_store().set_cursor(_subscriber(), row.key, 0)
        if rebuild or cursor is None or row.last > cursor[0]:
            yield _sync(row, now=True)


def synchronise(reason: str, *, by_person: bool = False, of: str | None = None) -> Waiting | None:
    """Close the evolutions whose claim no process holds, write to MLflow what waits, and return what is left.

    Only studies that this MLflow has been given events of before are written; ``bife track`` writes all.

    Parameters
    ----------
    reason : str
        Why they stopped, as a sentence; it becomes a tag of their runs.
    by_person : bool
        Whether a person stopped them.
    of : str, optional
        Only evolutions of this flow run of Prefect are closed.
    """
    for row in home_store().studies("evolution"):
        if _close(row, reason, by_person, of) and _cursor(row.key) is None:
            home_store().set_cursor(_subscriber(), row.key, 0)  # killed before MLflow had answered
    lacking = []
    for row in home_store().studies():
        cursor = _cursor(row.key)
        if cursor is not None and row.last > cursor[0] and _sync(row, now=False).left and outage.reason:
            lacking.append(1 if row.kind != "evolution" else row.last - cursor[0])
    return Waiting(records=sum(lacking), runs=len(lacking)) if lacking else None


def under_way() -> int:
    """Return how many evolutions a process works on; right after `synchronise`, which closes all others."""
    return sum(left_open(home_store(), row) for row in home_store().studies())


def _close(row: StudyRow, reason: str, by_person: bool = False, of: str | None = None) -> bool:
    """Write into an evolution that no process works on that it stopped, with the calls no event reports."""

    def own(tags: Mapping[str, str]) -> bool:
        return of is None or tags.get(provenance.WHOLE_RUN) == of

    # A process that closed one before the flow run's end was known gave no better reason than `GONE`.
    events, former = home_store(), GONE if of is not None else ""
    if not left_open(events, row, former):
        return False
    with suppress(BifeError), events.claim(_claim(row), timeout_s=0.0):
        folder = project_home().runs / row.key
        return close_left(events, folder, reason, by_person=by_person, instead_of=former, whose=own)
    return False


def _sync(row: StudyRow, *, now: bool) -> Synchronised:
    """Synchronise a study unless a process works on it, which does so itself."""
    study = Synchronised(study=row.key, name=row.name)
    try:
        with home_store().claim(_claim(row), timeout_s=0.0):
            if row.kind != "evolution":
                left = "" if _sync_record(row.key, now=now) else _unreached()
                return study.model_copy(update={"left": left})
            run = EvolutionRun(row.key)
            left = "" if run.sync(now=now) else next(reversed(run.notes), _unreached())
            done = {"samples": run.samples, "traces": run.traces, "notes": run.notes}
            return study.model_copy(update=done | {"left": left})
    except ClaimTimeoutError:
        left = "A process works on it, and writes it to MLflow."
    except (BifeError, *store.TRACKING_TROUBLE) as error:
        left = store.first_line(error)
    return study.model_copy(update={"left": left})


def track_record(folder: Path, record: Record) -> str:
    """Store a record whose files lie in a folder, which is named like its study, and write it to MLflow.

    Returns the id of its run, which is empty if MLflow cannot be reached now, or refuses it; `synchronise` writes it
    later.
    """
    study, events = folder.name, home_store()
    with events.claim(f"record {study}"):
        stored = None
        with suppress(TrackingError):  # an event of another version is followed by a new one
            stored = read_record(study)
        # A later run that finds it done did not make it: the first time and provenance stay.
        first = stored or record.model_copy(
            update={"at_unix_s": time.time(), "provenance": provenance.provenance()}
        )
        record = record.model_copy(update={"at_unix_s": first.at_unix_s, "provenance": first.provenance})
        if record != stored:
            events.open_study(study, study.partition("-")[0], record.name)
            events.append(study, "record", record.model_dump(mode="json"))
        if _cursor(study) is None:
            events.set_cursor(_subscriber(), study, 0)
        try:
            return _sync_record(study, now=False)
        except (BifeError, *store.TRACKING_TROUBLE) as error:
            note(f"MLflow refused the record {study} ({store.first_line(error)}).")
            return ""


def read_record(study: str) -> Record | None:
    """Return the last record of a study, or None; raise `TrackingError` if it cannot be read."""
    last = deque(home_store().events(study), maxlen=1)
    try:
        return Record.model_validate(last[0].body) if last else None
    except ValueError as error:
        raise TrackingError(
            f"The record {study} was written by another version of BiFE; run the command that made it again."
        ) from error


def _sync_record(study: str, *, now: bool) -> str:
    """Write a record to MLflow and return the id of its run; empty if MLflow cannot be reached."""
    record = read_record(study)
    if record is None:
        return ""
    seq = max(event.seq for event in home_store().events(study))
    run_id = outage.reach(lambda: write_record(project_home().runs / study, record), now=now)
    if run_id:
        home_store().set_cursor(_subscriber(), study, seq, run_id)
    return run_id or ""


def _cursor(study: str) -> tuple[int, str] | None:
    """Return the last event of a study that our MLflow has, and its run; None if it was given none."""
    return home_store().cursor(_subscriber(), study)


def _subscriber() -> str:
    return f"mlflow {tracking_uri()}"


def _claim(row: StudyRow) -> str:
    return f"evolution {row.key}" if row.kind == "evolution" else f"record {row.key}"


def _unreached() -> str:
    return f"MLflow at {tracking_uri()} cannot be reached ({outage.reason})."
