"""MLflow as a subscriber of the store: it reads the events of each study after its cursor and writes them by key.

Writing an event again changes nothing, so an outage, a killed process and an MLflow that lost everything are treated
alike: what is after the cursor is written by the next generation, the next run, the worker or ``bife track``.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final
from weakref import WeakSet

from mlflow.exceptions import MlflowException

from bife_core.errors import BifeError
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.study.journal import AnyEntry, close_left, left_open, read_journal
from bife_core.wording import counted
from tasks.home import project_home
from tasks.stores import home_store, observer
from tasks.tracking import provenance
from tasks.tracking.cursors import cursor_of, lacking, mlflow_run, subscriber
from tasks.tracking.store import TRACKING_TROUBLE, TrackingError, first_line, tracking_uri
from tasks.tracking.writer import EvolutionWriter, Record as Record, write_record

GONE: Final = "The process ended; the same command goes on where it stopped."
"""Why a search stopped whose process could not report a reason."""

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach an MLflow that is away: the search waits for each attempt."""


class Outage:
    """Whether MLflow is away; a person who watches the run reads it once."""

    reason = ""
    retry_at_s = 0.0

    def reach(self, write: Callable[[], object], *, now: bool) -> str:
        """Write, and return why MLflow did not take it; it is not asked if it was away just now, unless `now`."""
        if not now and time.monotonic() < self.retry_at_s:
            return self.reason
        try:
            write()
        except (*TRACKING_TROUBLE, TrackingError) as error:
            reason = f"MLflow at {tracking_uri()} does not take records ({first_line(error)})"
            if not self.reason:
                observer().note(f"{reason}; the run goes on, and the store keeps them until it does.")
            refused = isinstance(error, MlflowException) and error.get_http_status_code() < 500  # type: ignore[no-untyped-call]
            self.reason, self.retry_at_s = reason, 0.0 if refused else time.monotonic() + RETRY_S
            return reason
        self.reason, self.retry_at_s = "", 0.0
        return ""


outage = Outage()
_open: WeakSet[EvolutionRun] = WeakSet()


class EvolutionRun:
    """Keeps the run of an evolution in MLflow up to date; an MLflow that fails stops no search.

    Only the process that holds the evolution's claim may use it. `run_id` is the parent run, empty until MLflow has
    been reached.
    """

    def __init__(self, study: str) -> None:
        self.study, self.run_id = study, ""
        self._writer: EvolutionWriter | None = None
        self._read = 0
        self._lock = threading.RLock()
        _open.add(self)

    def sync(self, *, now: bool = False) -> str:
        """Write the events that MLflow lacks, and return why that was not possible; `now` asks it in any case."""
        with self._lock:
            events = list(read_journal(home_store(), self.study, self._read))
            if not events:
                return ""
            if cursor_of(self.study) is None:
                home_store().set_cursor(subscriber(), self.study, 0)
            return outage.reach(partial(self._write, events), now=now)

    def _write(self, events: list[tuple[AnyEntry, int]]) -> None:
        # A write that fails may have arrived in part: the next one begins anew and looks up what is there.
        writer, self._writer = self._writer, None
        written, self._read = self._read, 0
        if writer is None:
            writer = EvolutionWriter(events[0][0])
            seq, run_id = cursor_of(self.study) or (0, "")
            # The cursor of a run that was deleted, or that MLflow lost, is of no use for another.
            self.run_id, written = writer.run_id, seq if run_id == writer.run_id else 0
        refused = writer.write(events, written)
        if refused:
            observer().note(refused)
        self._writer, self._read = writer, events[-1][1]
        home_store().set_cursor(subscriber(), self.study, self._read, self.run_id)


def synchronise_open() -> None:
    """Write what MLflow lacks of the evolutions that this process works on, as before it is stopped."""
    for run in list(_open):
        with suppress(BifeError):
            run.sync()


def track(*, rebuild: bool = False) -> Iterator[tuple[StudyRow, str]]:
    """Write to our MLflow what it lacks of all studies of the store, or with `rebuild` all events, one study by one.

    Yields each study with the reason why MLflow does not have all of it, which is empty where it does.
    """
    for row in home_store().studies():
        _close(row, GONE)
    for row in home_store().studies():
        seen = cursor_of(row.key)
        if rebuild and seen is not None:
            home_store().set_cursor(subscriber(), row.key, 0)
        if rebuild or seen is None or row.last > seen[0]:
            yield row, _sync(row, now=True)


def synchronise(reason: str, *, by_person: bool = False, of: str | None = None) -> str:
    """Close the evolutions whose claim no process holds, write to MLflow what waits, and say what it still lacks.

    Only studies that this MLflow has been given events of before are written; ``bife track`` writes all. The runs of
    evolutions say by `reason`, a sentence, why they stopped. Of a flow run `of` of Prefect only its own are closed.
    """
    for row in home_store().studies("evolution"):
        if _close(row, reason, by_person, of) and cursor_of(row.key) is None:
            home_store().set_cursor(subscriber(), row.key, 0)  # killed before MLflow had answered
    left = sum(bool(_sync(row, now=False)) for row, _ in lacking())
    if not left or not outage.reason:
        return ""
    return (
        f"MLflow lacks records of {counted(left, 'run')}: {outage.reason}. {home_store().name} has everything, and "
        "the next run, the worker or `bife track` writes it."
    )


def _close(row: StudyRow, reason: str, by_person: bool = False, of: str | None = None) -> bool:
    """Write into an evolution that no process works on that it stopped, with the calls no event reports."""
    if not left_open(row):
        return False
    with suppress(BifeError), home_store().claim(_claim(row), timeout_s=0.0):
        folder = project_home().runs / row.key
        own = (lambda _: True) if of is None else (lambda tags: tags.get(provenance.WHOLE_RUN) == of)
        return close_left(home_store(), folder, reason, by_person=by_person, whose=own)
    return False


def _sync(row: StudyRow, *, now: bool) -> str:
    """Synchronise a study unless a process works on it, which does so itself; return why MLflow lacks some of it."""
    try:
        with home_store().claim(_claim(row), timeout_s=0.0):
            if row.kind == "evolution":
                return EvolutionRun(row.key).sync(now=now)
            record = read_record(row.key)
            return outage.reach(partial(_write_record, row.key, record), now=now) if record else ""
    except ClaimTimeoutError:
        return "A process works on it, and writes it to MLflow."
    except BifeError as error:
        return str(error)


def track_record(folder: Path, record: Record) -> str:
    """Store a record whose files lie in a folder, which is named like its study, and write it to MLflow.

    A record that is stored already stays as it is, with its time and provenance. Returns the id of its run, which is
    empty if MLflow does not take it now; `synchronise` writes it later.
    """
    study, events = folder.name, home_store()
    with events.claim(f"record {study}"):
        stored = None
        with suppress(TrackingError):  # an event of another version is followed by a new one
            stored = read_record(study)
        if stored is None:
            own = {"at_unix_s": time.time(), "provenance": provenance.provenance()}
            stored = record.model_copy(update=own)
            events.open_study(study, study.partition("-")[0], record.name)
            events.append(study, "record", stored.model_dump(mode="json"))
        if cursor_of(study) is None:
            events.set_cursor(subscriber(), study, 0)
        failed = outage.reach(partial(_write_record, study, stored), now=False)
        return "" if failed else mlflow_run(study)


def read_record(study: str) -> Record | None:
    """Return the last record of a study, or None; raise `TrackingError` if it cannot be read."""
    last = deque(home_store().events(study), maxlen=1)
    try:
        return Record.model_validate(last[0].body) if last else None
    except ValueError as error:
        raise TrackingError(
            f"The record {study} was written by another version of BiFE; run the command that made it again."
        ) from error


def _write_record(study: str, record: Record) -> None:
    run_id = write_record(project_home().runs / study, record)
    last = deque(home_store().events(study), maxlen=1)
    home_store().set_cursor(subscriber(), study, last[0].seq, run_id)


def _claim(row: StudyRow) -> str:
    return f"evolution {row.key}" if row.kind == "evolution" else f"record {row.key}"
