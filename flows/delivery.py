"""Beside the stages: what an outage of MLflow or a lost process left behind is delivered, as soon as it can be."""

from __future__ import annotations

import time
from typing import Final

from prefect import flow

from bife_core.errors import BifeError
from flows.reporting.ownership import name_owner
from tasks.states import in_plain_words, waiting, with_message
from tasks.tracking import GONE, synchronise, under_way

_LOOK_EVERY_S: Final = 10.0


@flow(name="delivery", on_running=[name_owner])
@in_plain_words
def delivery() -> None:
    """Close the searches of this home that no process is at any more, and have MLflow know all that it lacks.

    While MLflow cannot be reached, it waits; its state says for what. It is started by the automations when a run is
    lost or ends with records that wait, and every hour. A search that goes on is left alone: a run that was not heard
    of may be alive.
    """
    reason = _left()
    if reason is not None:
        with waiting(reason):
            while _left() is not None:
                time.sleep(_LOOK_EVERY_S)
    going_on = under_way()
    left_alone = f" Searches that go on, and were left alone: {going_on}." if going_on else ""
    return with_message(None, f"MLflow has all that this home knows.{left_alone}")


def _left() -> str | None:
    """Deliver what can be, and return why not all of it, or None."""
    try:
        left = synchronise(GONE)
    except (OSError, BifeError) as error:  # as of a disk that is full: others make room
        return f"The home cannot be used: {error}"
    return left.sentence if left is not None else None
