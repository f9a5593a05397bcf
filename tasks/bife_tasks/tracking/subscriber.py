"""MLflow as a subscriber of the store: events of a study after its cursor are written, again and again if need be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from bife_core.base.errors import BifeError
from bife_core.base.wording import counted
from bife_core.run.stages.records import Record, read_record, store_record
from bife_core.run.study.journal import claim_on, close_left, left_open, read_journal
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.store.home import project_home
from bife_tasks.stores import ENDED, cursor_of, home_store, lacking, mlflow_run, observer, subscriber
from bife_tasks.tracking import provenance
from bife_tasks.tracking.mlflow_runs import TRACKING_TROUBLE, TrackingError, first_line, refused, tracking_uri
from bife_tasks.tracking.writer import write_record, write_search

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach an MLflow that is away: the search waits for each attempt."""


class Outage:
    """Whether MLflow is away; a person who watches the run reads it once."""

    reason = ""
    retry_at_s = 0.0

    def deliver(self, study: str, last: int, write: Callable[[], str], *, now: bool) -> str:
        """Write events up to `last` and note the run, or return why not; if it was away, ask MLflow only if `now`."""
        if not now and time.monotonic() < self.retry_at_s:
            return self.reason
        try:
            home_store().set_cursor(subscriber(), study, last, write())
        except (*TRACKING_TROUBLE, TrackingError) as error:
            reason = f"MLflow at {tracking_uri()} does not take records ({first_line(error)})"
            if not self.reason:
                observer().note(f"{reason}; the run goes on, and the store keeps them until it does.")
            self.reason, self.retry_at_s = reason, 0.0 if refused(error) else time.monotonic() + RETRY_S
            return reason
        self.reason, self.retry_at_s = "", 0.0
        return ""


outage = Outage()
_writing = threading.Lock()


def track_search(study: str, *, now: bool = False) -> str:
    """Write what MLflow lacks of a search that this process holds, or return why not; `now` asks in any case."""
    with _writing:
        events, seen = list(read_journal(home_store(), study)), _seen(study)
        if not events or (seen[0] == events[-1][1] and seen[1]):
            return ""
        # A write that failed may have arrived in part: each looks up what is there.
        return outage.deliver(study, events[-1][1], partial(write_search, events, *seen), now=now)


def _seen(study: str) -> tuple[int, str]:
    """Return the last event of a study that our MLflow has, and its run; note that it is to have them."""
    seen = cursor_of(study) or (0, "")
    # Written even where it stays the same, so that a process that lost the claim ends here.
    home_store().set_cursor(subscriber(), study, *seen)
    return seen


def track(*, rebuild: bool = False) -> Iterator[tuple[StudyRow, str]]:
    """Write to MLflow what it lacks, or with `rebuild` all; yield each study, and why some is missing still."""
    _close_left(ENDED)
    for row in home_store().studies():
        if rebuild:
            home_store().set_cursor(subscriber(), row.key, 0)
        if row.last > (cursor_of(row.key) or (0, ""))[0]:
            yield row, _sync(row, now=True)


def synchronise(reason: str, *, by_person: bool = False, of: str | None = None) -> str:
    """Close the searches whose claim no process holds, write to MLflow what waits, and say what it still lacks.

    Only studies that this MLflow has events of are written; ``bife track`` writes all. The runs of searches say by
    `reason` why they stopped. Of a flow run `of` of Prefect only its own are closed.
    """
    _close_left(reason, by_person, {} if of is None else {provenance.WHOLE_RUN: of})
    left = sum(bool(_sync(row, now=False)) for row, _ in lacking())
    if not left or not outage.reason:
        return ""
    return (
        f"MLflow lacks records of {counted(left, 'run')}: {outage.reason}. {home_store().name} has everything, and "
        "the next run, the worker or `bife track` writes it."
    )


def _close_left(reason: str, by_person: bool = False, tags: Mapping[str, str] | None = None) -> None:
    """Write into studies that no process works on that they stopped, with the calls no event reports."""
    for row in home_store().studies():
        if row.kind != "search" and left_open(row):
            with suppress(BifeError), home_store().claim(claim_on(row.key), timeout_s=0.0):
                record, _ = read_record(home_store(), row.key)
                if record is not None and (tags or {}).items() <= record.provenance.items():
                    stopped = {"tags": record.tags | {"stopped": reason}, "state": "killed"}
                    killed = record.model_copy(update=stopped)
                    store_record(home_store(), row.key, killed, record.provenance)
            continue
        if not left_open(row) and not (tags and by_person and row.last_kind == "stopped"):
            continue
        folder = project_home().runs / row.key
        with suppress(BifeError):
            if close_left(home_store(), folder, reason, by_person=by_person, provenance=tags):
                _seen(row.key)  # it may have been killed before MLflow had answered


def _sync(row: StudyRow, *, now: bool) -> str:
    """Synchronise a study unless a process works on it, which does so itself; return why MLflow lacks some of it."""
    try:
        with home_store().claim(claim_on(row.key), timeout_s=0.0):
            return (track_search if row.kind == "search" else _track_stored)(row.key, now=now)
    except ClaimTimeoutError:
        return "A process works on it, and writes it to MLflow."
    except BifeError as error:
        return str(error)


def track_record(folder: Path, record: Record) -> str:
    """Store a record, if it is new, of the study a folder is named like; return its run, empty if MLflow is away.

    The caller holds the claim on the study.
    """
    study = folder.name
    store_record(home_store(), study, record, provenance.provenance())
    _seen(study)
    return "" if _track_stored(study, now=False, shown=record) else mlflow_run(study)


def _track_stored(study: str, *, now: bool, shown: Record | None = None) -> str:
    """Write a record that is stored; one that is under way as it is `shown`."""
    record, last = read_record(home_store(), study)
    if record is None:
        return ""
    if shown is not None and record.state == "running":
        kept = record.model_dump(include={"provenance", "began_unix_s"})
        record = shown.model_copy(update={**kept, "at_unix_s": time.time()})
    return outage.deliver(study, last, partial(write_record, project_home().runs / study, record), now=now)
