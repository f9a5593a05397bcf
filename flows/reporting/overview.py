"""The overview on Prefect's pages: an artifact, and what waits on Prefect for a person."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bife_core.wording import storable
from tasks.overview import Link, Row, age_text, markdown, sections

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

KEY: Final = "bife-overview"
"""Key of the artifact."""

ASKING: Final = ("promotion", "rollback")
"""Flows that wait for a person's answer."""


def waiting_in(client: SyncPrefectClient, pages: str | None = None) -> list[Row]:
    """Return the runs of a Prefect server that wait for a person; `pages` is the address of its pages."""
    from prefect.client.schemas.filters import FlowFilter, FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.utilities.urls import url_for

    runs = client.read_flow_runs(
        flow_filter=FlowFilter.model_validate({"name": {"any_": ASKING}}),
        flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": [StateType.PAUSED]}}}),
    )
    return [
        (
            Link(run.name, url_for("flow-run", obj_id=run.id, default_base_url=pages) or ""),
            age_text(datetime.now(UTC) - run.state.timestamp),
        )
        for run in runs
        if run.state is not None
    ]


def renew() -> None:
    """Bring the page on Prefect's server up to date: one artifact, which each renewal replaces."""
    if not os.environ.get("PREFECT_API_URL"):
        return  # an API that ends with its run has no pages
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
    from prefect.client.schemas.filters import ArtifactFilter

    with get_client(sync_client=True) as client:
        text = storable(markdown(sections(lambda: waiting_in(client))))
        about = "Champions, searches, money, what waits and what the disk holds"
        wanted = ArtifactFilter.model_validate({"key": {"any_": [KEY]}})
        found = client.read_artifacts(artifact_filter=wanted, limit=1)
        if found:
            client.update_artifact(found[0].id, ArtifactUpdate(data=text, description=about))
        else:
            client.create_artifact(ArtifactCreate(type="markdown", key=KEY, data=text, description=about))
