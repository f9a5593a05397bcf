"""How far our MLflow is with each study of the store, which it takes no MLflow to know."""

from __future__ import annotations

import os

from bife_core.store import StudyRow
from tasks.stores import home_store


def cursor_of(study: str) -> tuple[int, str] | None:
    """Return the last event of a study that our MLflow has, and its run; None if it was given none."""
    return home_store().cursor(subscriber(), study)


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
