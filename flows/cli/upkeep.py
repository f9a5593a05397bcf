"""`bife prune`, `bife backup`: what a home holds, made smaller or kept safe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

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
    with standard_output().status("Looking ..."):
        from flows.operate.upkeep import prune as found

        rows = found(datetime.now(UTC) - timedelta(keep_days), remove=yes)
    cells = [(kind, str(count), "-" if size is None else f"{size:.1f}") for kind, count, size in rows]
    show_table(("older than " + counted(keep_days, "day"), "number", "MB"), cells)
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
