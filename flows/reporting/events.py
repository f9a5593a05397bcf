"""What runs announce on Prefect's event feed, for automations to act on."""

from __future__ import annotations

import os
from typing import Any, Final

from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.events import emit_event

EVOLUTION_ENDED: Final = "bife.evolution.ended"
"""Payload: `rule`, a reference to the best rule, and `config`, the settings of the evolution."""

CHALLENGER_REGISTERED: Final = "bife.challenger.registered"
"""Payload: `name` of the registered model and `approval`, who is to decide."""


def announce(event: str, subject: str, payload: dict[str, Any] | None = None) -> None:
    """Put an event on the feed; without a Prefect server there is nobody to hear it.

    Parameters
    ----------
    subject : str
        What it is about, such as the key of an evolution or the name of a registered model.
    """
    if os.environ.get("PREFECT_API_URL"):
        emit_event(event, resource={"prefect.resource.id": f"bife.{subject}"}, payload=payload)


def stands_alone() -> bool:
    """Whether the present flow run was started by itself and not by another flow, which goes on with its result."""
    run = present_run()
    return run is not None and run.parent_task_run_id is None


def tried_again() -> bool:
    """Whether the present flow run began before and did not come to its end: what it announced then is not known."""
    run = present_run()
    return run is not None and run.run_count > 1


def present_run() -> FlowRun | None:
    """Return the flow run that goes on here, or None."""
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None
