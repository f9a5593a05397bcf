"""However a run ends, what it paid for gets into MLflow, and its run there says why it ended."""

from __future__ import annotations

from typing import Any, Final

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging.loggers import flow_run_logger

from flows.reporting.ownership import name_owner
from tasks.tracking import GONE, synchronise


def settle_accounts(flow: Flow[..., Any] | None, flow_run: FlowRun, state: State[Any]) -> None:
    """Bring what is known of the run's searches that ended without a word to MLflow; a hook for all bad ends.

    Prefect calls it in the run's own process if that is still there, else in one that the worker starts. Where the
    worker is gone as well, whoever finds the run without a process does, who does not know its flow.
    """
    if flow_run.parent_task_run_id is not None:
        return  # the run it is part of ends too
    by_person = state.is_cancelling() or state.is_cancelled()
    reason = state.message or GONE
    said = f"Cancelled: {reason}" if by_person else reason
    left = synchronise(said, by_person=by_person, of=str(flow_run.id))
    if left:
        flow_run_logger(flow_run, flow).warning(left)


HOOKS: Final[dict[str, Any]] = {
    "on_running": [name_owner],
    "on_failure": [settle_accounts],
    "on_crashed": [settle_accounts],
    "on_cancellation": [settle_accounts],
}
"""Options of every flow: who runs it, and what happens if it ends badly."""
