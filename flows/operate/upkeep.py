"""What old runs leave, and how it is removed: `bife prune`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import TERMINAL_STATES
from prefect.exceptions import ObjectNotFound

from flows.operate.running import reach_prefect
from tasks.retention import Retention

_PAGE: Final = 200


@dataclass(frozen=True)
class Pruned:
    """Old things of one kind: how many, and the megabytes of their files, None for rows of a database."""

    kind: str
    count: int
    size_mb: float | None


def prune(before_unix_s: float, *, remove: bool) -> list[Pruned]:
    """Return what has not changed since a Unix time and no registered rule's evidence names; `remove` removes it."""
    reach_prefect()
    old = Retention(before_unix_s)
    found = [
        Pruned(
            "evolutions, collections, evaluations", len(old.studies), sum(one.size_mb for one in old.studies)
        ),
        Pruned("folders of expert samples", len(old.samples), sum(one.size_mb for one in old.samples)),
    ]
    with get_client(sync_client=True) as client:
        ended, stay = _ended(client, datetime.fromtimestamp(before_unix_s, UTC)), old.flow_runs
        history = [run for run in ended if str(run) not in stay]
        for run in history if remove else ():
            try:
                client.delete_flow_run(run)
            except ObjectNotFound:  # it was below one that is gone
                continue
    for one in (*old.studies, *old.samples) if remove else ():
        one.remove()
    return [*found, Pruned("flow runs of Prefect", len(history), None)]


def _ended(client: SyncPrefectClient, before: datetime) -> list[UUID]:
    old = {"state": {"type": {"any_": [*TERMINAL_STATES]}}, "end_time": {"before_": before}}
    wanted = FlowRunFilter.model_validate(old)
    found: list[UUID] = []
    while page := client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(found)):
        found += [run.id for run in page]
    return found
