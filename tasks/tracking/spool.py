"""What MLflow has to be told, on disk until it has been: in order, and once.

A tracking server may go away for an hour in the middle of a night. Nothing waits for it: every record is written to
disk first and leaves it when the server has taken it. Delivering a record again changes nothing, so a process that is
killed between the two loses and doubles nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from mlflow.exceptions import MlflowException

from bife_core.files import write_whole
from tasks.home import project_home
from tasks.progress import note_listener
from tasks.tracking import store

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach a server that is away: each attempt holds the search up."""

_REJECTED: Final = "rejected"
_NOT_OF_THE_RECORD: Final = (401, 403, 408, 429)
"""Refusals that have nothing to do with what was sent."""

Deliver = Callable[..., None]
"""Writes one record to MLflow, given its payload as keyword arguments; may be called again with the same."""


class _Outage:
    """What this process knows of its tracking server being away."""

    def __init__(self) -> None:
        self._retry_at_s = 0.0
        self._announced = False

    @property
    def waiting(self) -> bool:
        """Whether it is too early to try again."""
        return time.monotonic() < self._retry_at_s

    def met(self, error: BaseException) -> None:
        """Take note that the server did not answer."""
        self._retry_at_s = time.monotonic() + RETRY_S
        if not self._announced:
            self._announced = True
            _note(
                f"MLflow at {store.tracking_uri()} does not take records ({store.first_line(error)}); the run goes "
                "on, and they are kept on disk until it does."
            )

    def over(self) -> None:
        """Take note that the server answers."""
        if self._announced:
            self._announced = False
            _note(f"MLflow at {store.tracking_uri()} takes records again.")


_outage = _Outage()
_open: dict[Path, Spool] = {}


class Spool:
    """The records of one run that MLflow does not have yet.

    Parameters
    ----------
    key : str
        Identity of the run; a later process with the same key finds what an earlier one left.
    deliver : mapping
        By kind of record, what writes it to MLflow.
    """

    def __init__(self, key: str, deliver: Mapping[str, Deliver]) -> None:
        self.directory = project_home().spool / key
        self.rejections: list[str] = []
        self._deliver = deliver
        self._lock = threading.RLock()
        _open[self.directory] = self

    def __len__(self) -> int:
        return len(self._waiting())

    def add(self, kind: str, **payload: Any) -> None:
        """Write a record to disk, and deliver all there are if the server can be reached.

        Raises
        ------
        OSError
            If the disk does not take it.
        """
        with self._lock:
            waiting = self._waiting()
            number = int(waiting[-1].stem) + 1 if waiting else 1
            text = json.dumps({"kind": kind, "payload": payload})
            write_whole(self.directory / f"{number:08d}.json", text)
            self.deliver()

    def deliver(self, *, now: bool = False) -> bool:
        """Deliver what there is, in order, and say whether nothing is left.

        Parameters
        ----------
        now : bool
            Whether to try although the server did not answer a moment ago.
        """
        with self._lock:
            waiting = self._waiting()
            if not waiting:
                return True
            if _outage.waiting and not now:
                return False
            for path in waiting:
                record = json.loads(path.read_text(encoding="utf-8"))
                try:
                    self._hand_over(record["kind"], record["payload"])
                except (*store.TRACKING_TROUBLE, store.TrackingError) as error:
                    if not _rejects(error):
                        _outage.met(error)
                        return False
                    self._set_aside(path, error)
                else:
                    path.unlink()
            _outage.over()
            return True

    def _hand_over(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Deliver a record, and once more if it is refused.

        Machines that share a server share no lock: one that tells it the same at the same moment can be in the way of
        this one, and is done by the second time.
        """
        try:
            self._deliver[kind](**payload)
        except (*store.TRACKING_TROUBLE, store.TrackingError) as error:
            if not _rejects(error):
                raise
            self._deliver[kind](**payload)

    def _waiting(self) -> list[Path]:
        return sorted(self.directory.glob("*.json"))

    def _set_aside(self, path: Path, error: BaseException) -> None:
        """Keep a record that MLflow will never take from holding up those behind it."""
        place = self.directory / _REJECTED / path.name
        place.parent.mkdir(exist_ok=True)
        path.replace(place)
        self.rejections.append(f"MLflow refused a record ({store.first_line(error)}); it is kept as {place}.")


def deliver_waiting() -> str | None:
    """Try once more to deliver what this process's runs have told; return a sentence on what is left, or None."""
    for spool in _open.values():
        if not spool.deliver(now=not _outage.waiting):
            break
    left = sum(map(len, _open.values()))
    if left == 0:
        return None
    records = "1 record is" if left == 1 else f"{left} records are"
    return (
        f"{records} kept in {project_home().spool} because MLflow at {store.tracking_uri()} cannot be reached; the "
        "same command delivers them once it can."
    )


def _rejects(error: BaseException) -> bool:
    """Whether the server understood a record and will not take it, now or later."""
    if isinstance(error, store.TrackingError):
        cause = error.__cause__
        return cause is not None and _rejects(cause)
    if not isinstance(error, MlflowException):
        return False
    status = int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    return 400 <= status < 500 and status not in _NOT_OF_THE_RECORD


def _note(sentence: str) -> None:
    listener = note_listener()
    if listener is not None:
        listener(sentence)
