"""A file in a run's folder that says how much of the folder which MLflow has, so that a later look costs nothing.

A folder without one was never told to any MLflow from this home: it may belong to another machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bife_core.files import write_whole
from bife_core.values import Value
from tasks.tracking import store

FILE: Final = ".tracked.json"
"""Its name begins with a dot, so that it does not travel with the folder: another machine may have another MLflow."""


class Marker(Value):
    """What MLflow had at the last look.

    Attributes
    ----------
    uri : str
        Address of that MLflow.
    place : int
        Bytes of the folder's record that it had; there may be more.
    """

    uri: str
    run_id: str
    place: int


def read_marker(folder: Path) -> Marker | None:
    """Return a folder's marker, or None."""
    try:
        return Marker.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def write_marker(folder: Path, run_id: str, place: int) -> None:
    """Write down that our MLflow has the first `place` bytes of a folder's record.

    Who has not reached it, and so has no run, takes back nothing of what was known of it.
    """
    marker, known = Marker(uri=store.tracking_uri(), run_id=run_id, place=place), read_marker(folder)
    if known is not None and known.uri == marker.uri and not run_id:
        return
    if known != marker:
        write_whole(folder / FILE, marker.model_dump_json())
