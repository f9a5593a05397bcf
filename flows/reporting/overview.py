"""The state of a home on one page: an artifact that Prefect's pages show, and what `bife status` prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from bife_core.wording import as_markdown, counted, interval_text, storable
from tasks.overview import Family, LastSearch, Overview, Waiting, gather

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

KEY: Final = "bife-overview"
"""Key of the artifact."""

ASKING: Final = ("promotion", "rollback")
"""Flows that wait for a person's answer."""


class Link(NamedTuple):
    """A text that opens a page."""

    text: str
    url: str


Cell = str | Link


class Section(NamedTuple):
    """A part of the page: a sentence, a table, or both."""

    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]


def waiting_in(client: SyncPrefectClient, pages: str | None = None) -> list[Waiting]:
    """Return the runs of a Prefect server that wait for a person; `pages` is the address of its pages."""
    from prefect.client.schemas.filters import FlowFilter, FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.utilities.urls import url_for

    runs = client.read_flow_runs(
        flow_filter=FlowFilter.model_validate({"name": {"any_": ASKING}}),
        flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": [StateType.PAUSED]}}}),
    )
    return [
        Waiting(
            name=run.name,
            since=run.state.timestamp,
            url=url_for("flow-run", obj_id=run.id, default_base_url=pages) or "",
        )
        for run in runs
        if run.state is not None
    ]


def sections(overview: Overview) -> tuple[Section, ...]:
    """Return the page in parts."""
    one = overview
    families = [(each.label, *_champion(each, one), *_search(each.search, one)) for each in one.families]
    waiting = [(Link(each.name, each.url), _age(one.made - each.since)) for each in one.waiting or ()]
    unasked = "No Prefect server was asked." if one.waiting is None else "Nothing."
    days = [
        (day.day, f"{day.calls:,}", f"{day.tokens:,}", "-" if day.cost_usd is None else f"{day.cost_usd:.4f}")
        for day in one.days
    ]
    lacking = [(name, f"{left:,}") for name, left in one.lacking]
    disk = [(name, f"{size:,.0f}") for name, size in one.disk_mb.items() if size >= 1]
    used = f"{sum(one.disk_mb.values()):,.0f} MB in {one.home}; {one.free_mb:,.0f} MB are free."
    columns = ("family", "champion", "ratio to RPB", "SCIP", "age", "last search", "found", "budget used")
    return (
        Section("Families", one.trouble or ("" if families else "No search yet."), columns, families),
        Section("Waiting for a person", "" if waiting else unasked, ("run", "for"), waiting),
        Section("Model API", "" if days else "No call lately.", ("day", "calls", "tokens", "USD"), days),
        Section("Not in MLflow yet", "" if lacking else "Nothing.", ("record", "events left"), lacking),
        Section("Disk", used, ("part", "MB"), disk),
    )


def _champion(family: Family, overview: Overview) -> tuple[Cell, ...]:
    champion, evidence = family.champion, family.champion.evidence if family.champion else None
    if champion is None:
        return "none", "-", "-", "-"
    ratio = "-"
    if evidence is not None:
        interval = interval_text(evidence.ci_low, evidence.ci_high).removeprefix("interval ")
        ratio = f"{evidence.ratio:.3f} ({interval})"
    age = "-" if family.since is None else _age(overview.made - family.since)
    return Link(f"{champion.name} {champion.version}", family.page), ratio, champion.solver, age


def _search(search: LastSearch | None, overview: Overview) -> tuple[Cell, ...]:
    if search is None:
        return "none", "-", "-"
    used = ", ".join(f"{name} {100 * share:.0f} %" for name, share in search.budget_used.items())
    began = f"{_age(overview.made - search.began)} ago"
    return Link(began, search.url), search.outcome, used or "no limit"


def _age(age: timedelta) -> str:
    """Return a time in its largest unit."""
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (count := int(age.total_seconds()) // seconds) >= 1:
            return counted(count, unit)
    return "less than a minute"


def markdown(overview: Overview) -> str:
    """Return the page in Markdown."""
    parts = [f"Of {overview.made:%Y-%m-%d %H:%M} UTC"]
    for section in sections(overview):
        parts.append(f"## {section.title}")
        if section.sentence:
            parts.append(section.sentence)
        if section.rows:
            rows = [section.columns, ["---"] * len(section.columns), *section.rows]
            parts.append("\n".join(f"| {' | '.join(map(_marked, row))} |" for row in rows))
    return "\n\n".join(parts)


def _marked(cell: Cell) -> str:
    text, url = cell if isinstance(cell, Link) else (cell, "")
    text = as_markdown(text)
    return f"[{text}]({url})" if url.startswith("http") else text


def renew() -> None:
    """Bring the page on Prefect's server up to date: one artifact, which each renewal replaces."""
    if not os.environ.get("PREFECT_API_URL"):
        return  # an API that ends with its run has no pages
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
    from prefect.client.schemas.filters import ArtifactFilter

    with get_client(sync_client=True) as client:
        text = storable(markdown(gather(lambda: waiting_in(client))))
        about = "Champions, searches, money, what waits and what the disk holds"
        wanted = ArtifactFilter.model_validate({"key": {"any_": [KEY]}})
        found = client.read_artifacts(artifact_filter=wanted, limit=1)
        if found:
            client.update_artifact(found[0].id, ArtifactUpdate(data=text, description=about))
        else:
            client.create_artifact(ArtifactCreate(type="markdown", key=KEY, data=text, description=about))
