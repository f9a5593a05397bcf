"""What Prefect's pages show: of a run its bar, population, curve and conclusion; the overview of the home."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, FlowFilter, FlowRunFilter
from prefect.client.schemas.objects import Artifact, FlowRun, StateType
from prefect.client.schemas.sorting import ArtifactSort, FlowRunSort
from prefect.exceptions import PrefectException
from prefect.utilities.urls import url_for

from bife_core.base.errors import BifeError
from bife_core.base.wording import first_line, storable
from bife_core.run.observer import SearchState, TrackedRun
from bife_core.run.show import plots
from bife_core.run.stages.conclusions import links
from bife_core.run.study.files import sample_rows
from bife_tasks.overview import Link, Server, age_text, markdown, sections
from bife_tasks.stores import observer, started_run

OVERVIEW: Final = "bife-overview"
"""Key of the one artifact that is of no run."""

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


def show(kind: str, key: str, data: str | float, about: str, *, of_run: bool = True) -> None:
    """Show an artifact, of a kind by Prefect's word, in the place of the last one by that key.

    It is of the run that was started, so that the page of a pipeline has those of its parts.
    """
    run = UUID(number) if of_run and (number := started_run()) else None
    wanted = {"key": {"any_": [key]}} | ({} if run is None else {"flow_run_id": {"any_": [run]}})
    new = {"data": _shown(data), "description": about}
    with get_client(sync_client=True) as client:
        if shown := _latest(client, wanted):
            client.update_artifact(shown[0].id, ArtifactUpdate.model_validate(new))
        else:
            client.create_artifact(ArtifactCreate(type=kind, key=key, flow_run_id=run, **new))


def _latest(client: SyncPrefectClient, wanted: dict[str, Any]) -> list[Artifact]:
    """Return the one artifact that is shown; in an order, as two may have been made at once."""
    of = ArtifactFilter.model_validate(wanted)
    return client.read_artifacts(artifact_filter=of, limit=1, sort=ArtifactSort.ID_DESC)


def show_generation(label: str, run: TrackedRun, state: SearchState) -> None:
    """Bring bar, rules and anytime curve of a search, keyed by its benchmark for Prefect's history, up to date."""
    where = links(run)
    rows = [{name: _shown(row[name]) for name in _TABLE_COLUMNS} for row in sample_rows(state.rules)[:50]]
    about = f"Rules after generation {state.generation}, best first. {where}"
    with showing():
        percent = min(100.0, 100.0 * state.samples_total / state.budget)
        show("progress", artifact_key("progress", label), percent, state.sentence)
        show("table", artifact_key("population", label), json.dumps(rows), about)
        if state.curve:
            points = "".join(f"| {at.solver_s:.1f} | {at.f_hf:.4g} | {at.sample} |\n" for at in state.curve)
            table = f"| CPU seconds | best F_HF | rule |\n|---|---|---|\n{points}"
            curve = f"![The curve]({plots.data_url(plots.anytime(state.curve))})\n\n{table}"
            about = f"Best F_HF so far over CPU seconds in the solver. {where}"
            show("markdown", artifact_key("anytime", label), curve, about)


def runs_of(client: SyncPrefectClient, names: list[str], states: Iterable[StateType]) -> list[FlowRun]:
    """Return the runs of flows that are in one of some states, the last first."""
    return client.read_flow_runs(
        flow_filter=FlowFilter.model_validate({"name": {"any_": names}}),
        flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": [*states]}}}),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
    )


def on_server(client: SyncPrefectClient, pages: str | None = None) -> Server:
    """Return what a Prefect server has to show in the overview; `pages` is the address of its pages."""

    def linked(run: FlowRun) -> Link:
        return Link(run.name, url_for("flow-run", obj_id=run.id, default_base_url=pages) or "")

    paused = runs_of(client, ["promotion", "rollback"], [StateType.PAUSED])
    begun = runs_of(client, ["pipeline"], {*StateType} - {StateType.SCHEDULED})[:_PIPELINES]
    now = datetime.now(UTC)
    return Server(
        waiting=[(linked(run), age_text(now - run.state.timestamp)) for run in paused if run.state],
        pipelines=[
            (linked(run), run.state.name or "", (run.state.message or "").partition("\n")[0])
            for run in begun
            if run.state
        ],
    )


def overview_place(client: SyncPrefectClient) -> str:
    """Return where Prefect's pages show the overview, below their address; while there is none, where it will be."""
    shown = _latest(client, {"key": {"any_": [OVERVIEW]}})
    return f"/artifacts/artifact/{shown[0].id}" if shown else f"/artifacts/key/{OVERVIEW}"


@showing()
def renew() -> None:
    """Bring the page on Prefect's server up to date: one artifact, which each renewal replaces."""
    if not os.environ.get("PREFECT_API_URL"):
        return  # an API that ends with its run has no pages
    with get_client(sync_client=True) as client:
        pages = {each.name: url_for("deployment", obj_id=each.id) for each in client.read_deployments()}
        text = markdown(sections(lambda: on_server(client)))
    for what, form in (("Schedule", ""), ("Start", "/run")) if pages else ():
        text = (
            f"{what} {', '.join(f'[{name}]({page}{form})' for name, page in sorted(pages.items()))}\n\n{text}"
        )
    about = "Champions, challengers, searches, pipelines, money, what waits and what the disk holds"
    show("markdown", OVERVIEW, text, about, of_run=False)
