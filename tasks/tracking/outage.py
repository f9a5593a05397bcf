"""What this process knows of its tracking server being away, and which of its refusals are for good."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from mlflow.exceptions import MlflowException

from tasks.progress import note
from tasks.tracking import store

T = TypeVar("T")

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach a server that is away: each attempt holds the search up."""

TROUBLE: Final = (*store.TRACKING_TROUBLE, store.TrackingError)
"""What a write to MLflow may raise."""

_NOT_OF_THE_RECORD: Final = (401, 403, 408, 429)
"""Refusals that have nothing to do with what was sent."""


class RefusedError(store.TrackingError):
    """MLflow will not take what was written, now or later."""


class Outage:
    """The server that is away now, if it is: who watches is told once that it went, and once that it is back.

    Attributes
    ----------
    reason : str
        What the server said last, or what was said of it; empty while it answers.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._retry_at_s = 0.0

    def reach(self, write: Callable[[], T], *, now: bool = False) -> T | None:
        """Write, and return what that gave, or None if the server does not answer or it is too early to try again.

        Parameters
        ----------
        now : bool
            Whether to try although it did not answer a moment ago.

        Raises
        ------
        RefusedError
            If it answers, and will not take what is written.
        """
        if time.monotonic() < self._retry_at_s and not now:
            return None
        try:
            written = write()
        except RefusedError:
            raise
        except TROUBLE as error:
            self._retry_at_s = time.monotonic() + RETRY_S
            first = not self.reason
            self.reason = store.first_line(error)
            if first:
                note(
                    f"MLflow at {store.tracking_uri()} does not take records ({self.reason}); the run goes on, and "
                    "they are kept on disk until it does."
                )
            return None
        self._retry_at_s = 0.0
        if self.reason:
            self.reason = ""
            note(f"MLflow at {store.tracking_uri()} takes records again.")
        return written


outage = Outage()


def refuses(error: BaseException) -> bool:
    """Whether the server understood what was written and will not take it, now or later."""
    if isinstance(error, store.TrackingError):
        cause = error.__cause__
        return cause is not None and refuses(cause)
    if not isinstance(error, MlflowException):
        return False
    status = int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    return 400 <= status < 500 and status not in _NOT_OF_THE_RECORD


def twice(write: Callable[[], T], between: Callable[[], object] | None = None) -> T:
    """Write, and once more if it is refused, with a look at what is there now in between.

    Machines that share a server share no lock: one that writes the same at the same moment can be in the way of
    this one, and is done by the second time.

    Raises
    ------
    RefusedError
        If it is refused again.
    """
    try:
        return write()
    except TROUBLE as error:
        if not refuses(error):
            raise
    if between is not None:
        between()
    try:
        return write()
    except TROUBLE as error:
        if refuses(error):
            raise RefusedError(store.first_line(error)) from error
        raise
