"""`bife track`: have MLflow hold what the home holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bife_core.wording import counted
from flows.cli.consoles import say, standard_output
from flows.cli.outcome import CommandEnd, ExitCode

if TYPE_CHECKING:
    from tasks.tracking import Synchronised

REGISTRY = (
    "Registered rules and decisions on them are no part of this: they are in MLflow's registry alone. The command "
    "that registered a rule registers it again, and solves nothing twice."
)


def track(
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Write all runs again, each once: MLflow's database is new, or was lost.",
        ),
    ] = False,
) -> None:
    """Write to MLflow what it lacks of the runs in the store, as after an outage, or into an empty server."""
    console = standard_output()
    with console.status("Starting ..."):
        from tasks.tracking import track as track_all
        from tasks.tracking.store import require_store, tracking_uri

        require_store()
    done: list[Synchronised] = []
    for delivery in track_all(rebuild=rebuild):
        done.append(delivery)
        say(console, _line(delivery))
        for note in delivery.notes:
            say(console, f"  note: {note}")
    left = [delivery for delivery in done if delivery.left]
    samples, traces = sum(one.samples for one in done), sum(one.traces for one in done)
    say(
        console,
        f"MLflow at {tracking_uri()}: {counted(len(done) - len(left), 'run')} written, with "
        f"{counted(samples, 'sample')} and {counted(traces, 'trace')} it lacked; {len(left)} left.",
    )
    if rebuild:
        say(console, REGISTRY)
    if left:
        raise CommandEnd(f"{counted(len(left), 'run')} could not be written whole.", ExitCode.ERROR)


def _line(delivery: Synchronised) -> str:
    if delivery.left:
        return f"{delivery.study}  {delivery.name}: {delivery.left}"
    counts = f"{counted(delivery.samples, 'sample')}, {counted(delivery.traces, 'trace')}"
    return f"{delivery.study}  {delivery.name}: {counts}"
