"""The store of the home and what our MLflow has of it, and who is shown what a run does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from bife_core.run.observer import Observer
from bife_core.store import Store, StudyRow
from bife_core.store.home import project_home
from bife_tasks import TRACKER, mlflow_tracks

if TYPE_CHECKING:
    from bife_core.run.stages.tracker import Tracker

ENDED: Final = "The process ended; the same command goes on where it stopped."
"""Why a search stopped whose process could not report a reason."""

NOBODY: Final = Observer()
_watching: ContextVar[Observer] = ContextVar("bife_observer", default=NOBODY)
_started: ContextVar[str] = ContextVar("bife_started_run", default="")


def observer() -> Observer:
    """Return the observer of the present run."""
    return _watching.get()


@contextmanager
def observing(shown: Observer) -> Iterator[None]:
    """Have all runs and tasks started inside show `shown` what they do."""
    token = _watching.set(shown)
    try:
        yield
    finally:
        _watching.reset(token)


@contextmanager
def part_of(number: str) -> Iterator[None]:
    """Have what begins inside be part of a flow run: Prefect itself takes two calls for each level to say so."""
    token = _started.set(number)
    try:
        yield
    finally:
        _started.reset(token)


def started_run() -> str:
    """Return the flow run that was started, of which the present one is a part; empty outside of any."""
    return _started.get()


def home_store() -> Store:
    """Return the store of the home."""
    return project_home().store


def tracker() -> Tracker:
    """Return the tracker that ``BIFE_TRACKER`` names, by default MLflow."""
    from bife_core.run.stages.tracker import tracker_of  # which takes longer than all else here

    return tracker_of(project_home(), TRACKER)


def announce(event: str, subject: str, payload: Mapping[str, Any]) -> None:
    """Emit an event about a subject, for the automations of a Prefect server, if there is one."""
    if os.environ.get("PREFECT_API_URL"):
        # It takes a second, and `bife rules` has no other use for it.
        from prefect.events import emit_event

        emit_event(event, resource={"prefect.resource.id": f"bife.{subject}"}, payload=dict(payload))


def cursor_of(study: str) -> tuple[int, str] | None:
    """Return the last event of a study that our MLflow has, and its run; None if it has none or is not in use."""
    return home_store().cursor(subscriber(), study) if mlflow_tracks() else None


def subscriber() -> str:
    """Return what the store knows our MLflow by."""
    return f"mlflow {os.environ['MLFLOW_TRACKING_URI']}"


def lacking() -> list[tuple[StudyRow, int]]:
    """Return the studies that our MLflow has been given events of before and lacks some of, and how many it lacks."""
    seen_of = ((row, cursor_of(row.key)) for row in home_store().studies())
    return [(row, row.last - seen[0]) for row, seen in seen_of if seen is not None and row.last > seen[0]]


def mlflow_run(study: str) -> str:
    """Return the id of a study's run in our MLflow, empty while it has none."""
    return (cursor_of(study) or (0, ""))[1]
