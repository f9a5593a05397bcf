"""How far MLflow is with a study: a cursor of the store, one for each MLflow that was told of the study.

A study without one was never reported to that MLflow from this home: it may belong to another machine.
"""

from __future__ import annotations

from bife_core.values import Value
from tasks.stores import home_store
from tasks.tracking import store


class Marker(Value):
    """What MLflow had last.

    Attributes
    ----------
    place : int
        Sequence number of the last event that it had; there may be more.
    """

    run_id: str
    place: int


def read_marker(study: str) -> Marker | None:
    """Return how far our MLflow is with a study, or None."""
    cursor = home_store().cursor(_subscriber(), study)
    return None if cursor is None else Marker(run_id=cursor[1], place=cursor[0])


def write_marker(study: str, run_id: str, place: int) -> None:
    """Store that our MLflow has the events of a study up to `place`.

    A process that has not reached MLflow, and so has no run, takes back nothing.
    """
    marker, known = Marker(run_id=run_id, place=place), read_marker(study)
    if marker != known and not (known is not None and not run_id):
        home_store().set_cursor(_subscriber(), study, place, run_id)


def _subscriber() -> str:
    return f"mlflow {store.tracking_uri()}"
