"""What Prefect's pages show: of a run its bar, population, curve and conclusion; the overview of the home."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, cast
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, FlowFilter, FlowRunFilter
from prefect.client.schemas.objects import TERMINAL_STATES, FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import PrefectException
from prefect.utilities.urls import url_for

from bife_core.base.errors import BifeError
from bife_core.base.wording import first_line, storable
from bife_core.run.study import SearchState
from bife_core.run.study.files import sample_rows
from bife_core.search import CostPoint
from bife_tasks.overview import Link, Server, age_text, markdown, sections
from bife_tasks.stores import observer

OVERVIEW: Final = "bife-overview"
"""Key of the one artifact that is of no run."""

OVERVIEW_PAGE: Final = f"/artifacts/key/{OVERVIEW}"
"""Where Prefect's pages show it, below their address."""

_PIPELINES: Final = 10
"""How many pipelines the overview has, the last ones."""

_TABLE_COLUMNS = ("id", "f_hf", "f_lf", "operator", "generation", "parents", "failure", "thought")


def artifact_key(*parts: str) -> str:
    """Return a key as Prefect wants them: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") or "run"


def _shown(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


@contextmanager
def showing() -> Iterator[None]:
    """Go on with a note if there is no artifact, or Prefect's API does not take it."""
    try:
        yield
    except (httpx.HTTPError, PrefectException, BifeError, OSError) as error:
        observer().note(f"Prefect did not take what its pages would show ({first_line(error)}).")


class SearchPage:
    """The artifacts of one search, with keys by benchmark for Prefect's history; `links` are Markdown."""

    def __init__(self, label: str, links: str) -> None:
        self._label, self._links = label, links
        self._bar: UUID | None = None
        self._tables: dict[str, UUID] = {}
        self._drawn: tuple[CostPoint, ...] = ()

    def generation(self, state: SearchState) -> None:
        """Bring bar, table and, if a better rule was found, the anytime curve to where a generation ended."""
        percent = min(100.0, 100.0 * state.samples_total / state.budget)
        rows = sample_rows(state.rules)[:50]
        with showing():
            if self._bar is None:
                key = artifact_key("progress", self._label)
                # Prefect's stubs allow for an asynchronous caller; here it returns the id.
                self._bar = cast(UUID, create_progress_artifact(percent, key=key, description=state.sentence))
            else:
                update_progress_artifact(self._bar, progress=percent, description=state.sentence)
            self._table(
                "population",
                [{name: _shown(row[name]) for name in _TABLE_COLUMNS} for row in rows],
                f"Rules after generation {state.generation}, best first. {self._links}",
            )
            if state.curve and state.curve != self._drawn:
                self._drawn = state.curve
                points = [
                    {"CPU seconds": round(at.solver_s, 1), "best F_HF": at.f_hf, "rule": at.sample}
                    for at in state.curve
                ]
                self._table(
                    "anytime", points, f"Best F_HF so far over CPU seconds in the solver. {self._links}"
                )

    def _table(self, kind: str, rows: list[dict[str, object]], about: str) -> None:
        """Show a table, in the place of the last one of its kind."""
        if kind not in self._tables:
            key = artifact_key(kind, self._label)
            self._tables[kind] = cast(UUID, create_table_artifact(rows, key=key, description=about))
            return
        with get_client(sync_client=True) as client:
            client.update_artifact(
                self._tables[kind], ArtifactUpdate(data=json.dumps(rows), description=about)
            )


def show_conclusion(label: str, stage: str, text: str) -> None:
    """Write the conclusion of a stage where Prefect's reader looks first."""
    about = f"Conclusion of the {stage} on {label}"
    with showing():
        create_markdown_artifact(storable(text), key=artifact_key(stage, label), description=about)


def on_server(client: SyncPrefectClient, pages: str | None = None) -> Server:
    """Return what a Prefect server has to show in the overview; `pages` is the address of its pages."""

    def runs(names: list[str], **further: object) -> list[FlowRun]:
        return client.read_flow_runs(
            flow_filter=FlowFilter.model_validate({"name": {"any_": names}}),
            flow_run_filter=FlowRunFilter.model_validate(further),
            sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        )

    def linked(run: FlowRun) -> Link:
        return Link(run.name, url_for("flow-run", obj_id=run.id, default_base_url=pages) or "")

    paused = runs(["promotion", "rollback"], state={"type": {"any_": [StateType.PAUSED]}})
    ended = runs(["pipeline"], state={"type": {"any_": [*TERMINAL_STATES]}})[:_PIPELINES]
    now = datetime.now(UTC)
    return Server(
        waiting=[(linked(run), age_text(now - run.state.timestamp)) for run in paused if run.state],
        pipelines=[
            (linked(run), run.state.name or "", (run.state.message or "").partition("\n")[0])
            for run in ended
            if run.state
        ],
    )


def renew() -> None:
    """Bring the page on Prefect's server up to date: one artifact, which each renewal replaces."""
    if not os.environ.get("PREFECT_API_URL"):
        return  # an API that ends with its run has no pages
    with get_client(sync_client=True) as client:
        text = storable(markdown(sections(lambda: on_server(client))))
        about = "Champions, challengers, searches, pipelines, money, what waits and what the disk holds"
        wanted = ArtifactFilter.model_validate({"key": {"any_": [OVERVIEW]}})
        artifacts = client.read_artifacts(artifact_filter=wanted, limit=1)
        if artifacts:
            client.update_artifact(artifacts[0].id, ArtifactUpdate(data=text, description=about))
        else:
            made = ArtifactCreate(type="markdown", key=OVERVIEW, data=text, description=about)
            client.create_artifact(made)
