"""One question at a time: of all promotions of a registered model one waits for a person, that of its challenger."""

from __future__ import annotations

import os
from typing import Any, Final

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Cancelled
from prefect.utilities.urls import url_for

from flows.reporting.events import present_run
from tasks.stores import home_store

_ASKS: Final = "bife.asks"
"""Label of a promotion's run: the version it asks a person about."""


def first_to_ask(name: str, version: int) -> str | None:
    """Have the present run ask about a version, unless another one does; return the address of that one, or None.

    Runs that ask about another version of the model are cancelled: it is challenger no more.

    Parameters
    ----------
    name : str
        The registered model.
    """
    own = present_run()
    if own is None or not os.environ.get("PREFECT_API_URL"):
        return None  # nobody else is known here
    asked = f"{name}/{version}"
    # Two that begin together must not both find nobody.
    with (
        home_store().claim(f"promotion-{name}"),
        get_client(sync_client=True) as client,
    ):
        others = [run for run in _asking(client, name) if run.id != own.id]
        for run in others:
            if run.labels[_ASKS] == asked:
                return _page(run)
        for run in others:
            said = f"Version {version} is challenger now; {_page(own)} asks about it."
            state: State[Any] = Cancelled(message=said)
            client.set_flow_run_state(run.id, state, force=True)
        client.update_flow_run_labels(own.id, {_ASKS: asked})
    return None


def _asking(client: SyncPrefectClient, name: str) -> list[FlowRun]:
    """Return the promotions of a model that wait for a person, or are about to or have just been answered."""
    # Suspended runs that were answered are scheduled until their new process begins.
    types = [StateType.PAUSED, StateType.RUNNING, StateType.PENDING, StateType.SCHEDULED]
    found = client.read_flow_runs(
        flow_filter=FlowFilter(name=FlowFilterName(any_=["promotion"])),
        flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=types))),
        sort=FlowRunSort.EXPECTED_START_TIME_ASC,
    )
    return [run for run in found if str(run.labels.get(_ASKS, "")).rpartition("/")[0] == name]


def _page(run: FlowRun) -> str:
    """Return the address of a run's page; an API without pages knows only its id."""
    return url_for(run) or f"run {run.id}"
