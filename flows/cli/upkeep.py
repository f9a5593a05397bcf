"""`bife prune`, `bife backup`: what a home holds, made smaller or kept safe."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from bife_core.wording import counted
from flows.cli.consoles import say, show_table, standard_output
from tasks.home import project_home


def prune(
    keep_days: Annotated[
        int, typer.Option(metavar="N", min=1, help="What has changed in the last N days stays.")
    ] = 90,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without, only say what would go.")] = False,
) -> None:
    """Remove what old runs left: files, runs in MLflow, expert samples, and Prefect's history.

    What the evidence of a registered rule names stays, and so does the store: answers of models, solves, and what
    instances have served.
    """
    before = datetime.now(UTC) - timedelta(keep_days)
    with standard_output().status("Looking ..."):
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowRunFilter
        from prefect.client.schemas.objects import TERMINAL_STATES
        from prefect.exceptions import ObjectNotFound

        from flows.operate.running import reach_prefect
        from tasks.retention import Retention

        reach_prefect()
        old = Retention(before.timestamp())
        files = {
            "evolutions, collections, evaluations": old.studies,
            "folders of expert samples": old.samples,
        }
        rows = [
            (kind, str(len(some)), f"{sum(one.size_mb for one in some):.1f}") for kind, some in files.items()
        ]
        ended = {"state": {"type": {"any_": [*TERMINAL_STATES]}}, "end_time": {"before_": before}}
        runs: list[UUID] = []
        with get_client(sync_client=True) as client:
            wanted = FlowRunFilter.model_validate(ended)
            while page := client.read_flow_runs(flow_run_filter=wanted, limit=200, offset=len(runs)):
                runs += [run.id for run in page]
            history = [run for run in runs if str(run) not in old.flow_runs]
            for run in history if yes else ():
                with suppress(ObjectNotFound):  # it was below one that is gone
                    client.delete_flow_run(run)
        for one in (*old.studies, *old.samples) if yes else ():
            one.remove()
    rows.append(("flow runs of Prefect", str(len(history)), "-"))
    show_table(("older than " + counted(keep_days, "day"), "number", "MB"), rows)
    say("Removed." if yes else "Nothing was removed; --yes removes it.")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive, such as bife.tar.gz.")],
    restore: Annotated[
        bool, typer.Option("--restore", help="Make the home, which must hold no file, from the archive.")
    ] = False,
) -> None:
    """Write all of the home into one file, also while runs are under way."""
    from tasks import backup

    home = project_home()
    with standard_output().status("Copying ..."):
        for note in (backup.restore if restore else backup.back_up)(home, file) or ():
            say(f"note: {note}")
    say(f"{home.root} is as it was." if restore else f"{file}: {file.stat().st_size / 1e6:.1f} MB.")
