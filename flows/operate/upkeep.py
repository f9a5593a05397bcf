"""What old runs leave, and how it is removed: `bife prune`."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import TERMINAL_STATES
from prefect.exceptions import ObjectNotFound

from flows.operate.running import reach_prefect
from tasks.retention import Retention

_PAGE: Final = 200


def prune(before: datetime, *, remove: bool) -> list[tuple[str, int, float | None]]:
    """Return what has not changed since a time and no registered rule's evidence names; `remove` removes it.

    Of each kind of things: its name, how many there are, and the megabytes of their files, None for rows of a database.
    """
    reach_prefect()
    old = Retention(before.timestamp())
    files = {"evolutions, collections, evaluations": old.studies, "folders of expert samples": old.samples}
    sizes = [(kind, len(some), sum(one.size_mb for one in some)) for kind, some in files.items()]
    ended = {"state": {"type": {"any_": [*TERMINAL_STATES]}}, "end_time": {"before_": before}}
    runs: list[UUID] = []
    with get_client(sync_client=True) as client:
        wanted = FlowRunFilter.model_validate(ended)
        while page := client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(runs)):
            runs += [run.id for run in page]
        history = [run for run in runs if str(run) not in old.flow_runs]
        for run in history if remove else ():
            try:
                client.delete_flow_run(run)
            except ObjectNotFound:  # it was below one that is gone
                continue
    for one in (*old.studies, *old.samples) if remove else ():
        one.remove()
    return [*sizes, ("flow runs of Prefect", len(history), None)]
