"""MLflow's cursors in the store, an MLflow that does not answer, and records that it refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from mlflow.exceptions import MlflowException

from tasks.stores import home_store, note
from tasks.tracking import store

T = TypeVar("T")

RETRY_S: Final = 20.0
"""Wall seconds between two attempts to reach an MLflow that is away: the search waits for each attempt."""

TROUBLE: Final = (*store.TRACKING_TROUBLE, store.TrackingError)
"""Errors that a write to MLflow may raise."""

_NOT_OF_THE_RECORD: Final = (401, 403, 408, 429)
"""Refusals that do not depend on what was sent."""


class RefusedError(store.TrackingError):
    """MLflow does not take what was written, now or later."""


class Outage:
    """Whether MLflow is away; the observer is told once that it went, and once that it is back.

    Attributes
    ----------
    reason : str
        The last error; empty while MLflow answers.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._retry_at_s = 0.0

    def reach(self, write: Callable[[], T], *, now: bool = False) -> T | None:
        """Write, and return the result, or None if MLflow does not answer or it is too early to try again.

        Parameters
        ----------
        now : bool
            Whether to try although it did not answer a moment ago.

        Raises
        ------
        RefusedError
            If it answers, and does not take what is written.
        """
        if time.monotonic() < self._retry_at_s and not now:
            return None
        try:
            written = write()
        except RefusedError:
            raise
        except TROUBLE as error:
            self._retry_at_s = time.monotonic() + RETRY_S
            first, self.reason = not self.reason, store.first_line(error)
            if first:
                note(
                    f"MLflow at {store.tracking_uri()} does not take records ({self.reason}); the run goes on, and "
                    "the store keeps them until it does."
                )
            return None
        self._retry_at_s = 0.0
        if self.reason:
            self.reason = ""
            note(f"MLflow at {store.tracking_uri()} takes records again.")
        return written


outage = Outage()


def refuses(error: BaseException) -> bool:
    """Whether MLflow understood what was written and does not take it."""
    if isinstance(error, store.TrackingError):
        return error.__cause__ is not None and refuses(error.__cause__)
    if not isinstance(error, MlflowException):
        return False
    status = int(error.get_http_status_code())  # type: ignore[no-untyped-call]
    return 400 <= status < 500 and status not in _NOT_OF_THE_RECORD


def twice(write: Callable[[], T], between: Callable[[], object] = lambda: None) -> T:
    """Write, and once more if it is refused: another machine may have written the same at the same moment.

    Parameters
    ----------
    between : callable
        Called before the second attempt, to look up what MLflow has now.

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
    between()
    try:
        return write()
    except TROUBLE as error:
        if refuses(error):
            raise RefusedError(store.first_line(error)) from error
        raise


def read_cursor(study: str) -> tuple[int, str] | None:
    """Return the last event of a study that our MLflow has, and its run; None if it was never told of the study."""
    return home_store().cursor(_subscriber(), study)


def write_cursor(study: str, seq: int, run_id: str) -> None:
    """Store the last event of a study that our MLflow has; a process that did not reach MLflow changes nothing."""
    known = read_cursor(study)
    if known is None or (run_id and known != (seq, run_id)):
        home_store().set_cursor(_subscriber(), study, seq, run_id)


def _subscriber() -> str:
    return f"mlflow {store.tracking_uri()}"
