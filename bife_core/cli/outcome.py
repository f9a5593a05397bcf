"""How a command ends: exit codes, and one sentence on standard error where something went wrong."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from bife_core.base.errors import BifeError


class ExitCode(IntEnum):
    """What the program returns to the shell."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NO_OPTIMUM = 3
    LIMIT = 4
    DISAGREEMENT = 5
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 done; 1 an error, reported in one sentence; 2 the command line was not understood; 3 the instance "
    "is infeasible or unbounded; 4 a limit was reached before an optimum was proven, or its integers, rounded, miss a "
    "row; 5 two methods proved different optima, which is a defect; 130 interrupted with Ctrl-C."
)

WITHOUT_OPTIMUM = {
    "infeasible": "is infeasible: no point satisfies all its constraints",
    "unbounded": "is unbounded: its objective has no limit",
    "inforunbd": "is infeasible or unbounded",
}
"""What SCIP's statuses that prove the absence of an optimum say about an instance."""


class CommandEnd(BifeError):  # noqa: N818 - an end other than a failure is possible
    """Ends a command with a sentence and an exit code of its own."""

    def __init__(self, sentence: str, code: ExitCode = ExitCode.ERROR) -> None:
        super().__init__(sentence)
        self.code = code


class ReportingGroup(TyperGroup):
    """Turns errors made on purpose into one sentence; others are defects and keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of `ctx`."""
        try:
            return super().invoke(ctx)
        except (BifeError, KeyboardInterrupt, OSError) as error:
            # After a closed pipe there is no reader left for a sentence.
            if ctx.obj or isinstance(error, BrokenPipeError):
                raise
            code, sentence = error.code if isinstance(error, CommandEnd) else ExitCode.ERROR, str(error)
            if isinstance(error, KeyboardInterrupt):
                code, sentence = ExitCode.INTERRUPTED, "Interrupted."
            elif isinstance(error, OSError) and error.filename:
                sentence = f"{error.filename}: {error.strerror}."
            complain(sentence)
            raise typer.Exit(code) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands of each panel with the whole of what they do."""
        width, panels = max(map(len, self.commands)), dict[str, list[tuple[str, str]]]()
        for name, command in self.commands.items():
            row = name.ljust(width), command.get_short_help_str(limit=300)
            panels.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def complain(sentence: str) -> None:
    """Print a sentence on standard error, on one line whatever it holds."""
    label = typer.style("Error:", fg=typer.colors.RED, bold=True)
    typer.echo(f"{label} {' '.join(sentence.split())}", err=True)
