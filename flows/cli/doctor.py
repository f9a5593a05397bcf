"""`bife doctor`: whether everything a run needs works here."""

from __future__ import annotations

from rich.text import Text

from flows.cli.consoles import show_table, standard_output
from flows.cli.outcome import CommandEnd, ExitCode

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor() -> None:
    """Check solver, compiler, workers, tracking, Prefect and the model API, one line each."""
    from flows.cli.checks import CHECKS, examine

    console = standard_output()
    with console.status("Checking ..."):
        found = {name: examine(check) for name, check in CHECKS.items()}
    rows = [(name, Text(one.state, style=_STYLES[one.state]), one.text) for name, one in found.items()]
    show_table(console, ("check", "state", "found"), rows, numbers=False)
    failed = [name for name, one in found.items() if one.state == "fail"]
    if failed:
        raise CommandEnd(f"These checks failed: {', '.join(failed)}.", ExitCode.ERROR)
