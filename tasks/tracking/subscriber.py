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
from functools import partial
from pathlib import Path
from typing import Final

from mlflow.exceptions import MlflowException

from bife_core.errors import BifeError
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.study.journal import Entry, claim_on, close_left, left_open, read_journal
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
_writing = threading.Lock()


def track_evolution(study: str, *, now: bool = False) -> str:
    """Write the events of an evolution that MLflow lacks; return why that was not possible; `now` asks it in any case.

    Only the process that holds the evolution's claim may do so. An MLflow that fails stops no search.
    """
    with _writing:
        events = list(read_journal(home_store(), study))
        cursor = cursor_of(study)
        if cursor is None:
            home_store().set_cursor(subscriber(), study, 0)
        if not events or (cursor is not None and cursor[0] == events[-1][1]):
            return ""
        return outage.reach(partial(_write_evolution, study, events), now=now)


def _write_evolution(study: str, events: list[tuple[Entry, int]]) -> None:
    # A write that failed may have arrived in part: each looks up what is there.
    writer = EvolutionWriter(events[0][0])
    seq, run_id = cursor_of(study) or (0, "")
    # The cursor of a run that was deleted, or that MLflow lost, is of no use for another.
    refused = writer.write(events, seq if run_id == writer.run_id else 0)
    if refused:
        observer().note(refused)
    home_store().set_cursor(subscriber(), study, events[-1][1], writer.run_id)


def track(*, rebuild: bool = False) -> Iterator[tuple[StudyRow, str]]:
    """Write to our MLflow what it lacks of all studies of the store, or with `rebuild` all events, one study by one.

    Yields each study with the reason why MLflow does not have all of it, which is empty where it does.
    """
    _close_left(GONE)
    for row in home_store().studies():
        cursor = cursor_of(row.key)
        if rebuild and cursor is not None:
            home_store().set_cursor(subscriber(), row.key, 0)
        if rebuild or cursor is None or row.last > cursor[0]:
            yield row, _sync(row, now=True)


def synchronise(reason: str, *, by_person: bool = False, of: str | None = None) -> str:
    """Close the evolutions whose claim no process holds, write to MLflow what waits, and say what it still lacks.

    Only studies that this MLflow has been given events of before are written; ``bife track`` writes all. The runs of
    evolutions say by `reason`, a sentence, why they stopped. Of a flow run `of` of Prefect only its own are closed.
    """
    _close_left(reason, by_person, {} if of is None else {provenance.WHOLE_RUN: of})
    left = sum(bool(_sync(row, now=False)) for row, _ in lacking())
    if not left or not outage.reason:
        return ""
    return (
        f"MLflow lacks records of {counted(left, 'run')}: {outage.reason}. {home_store().name} has everything, and "
        "the next run, the worker or `bife track` writes it."
    )


def _close_left(reason: str, by_person: bool = False, own: Mapping[str, str] | None = None) -> None:
    """Write into evolutions that no process works on that they stopped, with the calls no event reports."""
    for row in filter(left_open, home_store().studies()):
        folder = project_home().runs / row.key
        with suppress(BifeError):
            closed = close_left(home_store(), folder, reason, by_person=by_person, provenance=own)
            if closed and cursor_of(row.key) is None:
                home_store().set_cursor(subscriber(), row.key, 0)  # killed before MLflow had answered


def _sync(row: StudyRow, *, now: bool) -> str:
    """Synchronise a study unless a process works on it, which does so itself; return why MLflow lacks some of it."""
    try:
        evolution = row.kind == "evolution"
        with home_store().claim(claim_on(row.key) if evolution else f"record {row.key}", timeout_s=0.0):
            if evolution:
                return track_evolution(row.key, now=now)
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
