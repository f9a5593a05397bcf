"""`bife doctor`: whether everything a run needs works here."""

from __future__ import annotations

from flows.cli.consoles import plain_table, standard_output
from flows.cli.outcome import CommandEnd, ExitCode

_MARKS = {"ok": "[green]ok[/]", "warn": "[yellow]warn[/]", "fail": "[bold red]fail[/]"}


def doctor() -> None:
    """Check solver, compiler, workers, tracking, Prefect and the model API, one line each."""
    from rich.text import Text

    from flows.cli.checks import CHECKS, examine

    console = standard_output()
    table = plain_table("check", "state", "found", numbers=False)
    failed = []
    with console.status("Checking ..."):
        for name, check in CHECKS.items():
            finding = examine(check)
            table.add_row(name, _MARKS[finding.state], Text(finding.text))
            if finding.state == "fail":
                failed.append(name)
    console.print(table)
    if failed:
        raise CommandEnd(f"These checks failed: {', '.join(failed)}.", ExitCode.ERROR)
