"""How a command ends: exit codes, and one sentence on standard error where something went wrong."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from bife_core.errors import BifeError


class ExitCode(IntEnum):
    """What the program returns to the shell, and what that means."""

    OK = 0, "done"
    ERROR = 1, "an error, reported in one sentence"
    USAGE = 2, "the command line was not understood"
    NO_OPTIMUM = 3, "the model is infeasible or unbounded"
    LIMIT = 4, "a limit was reached before an optimum was proven"
    DISAGREEMENT = 5, "two methods proved different optima, which is a defect"
    INTERRUPTED = 130, "interrupted with Ctrl-C"

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Return a code that knows its meaning."""
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code


EXIT_CODES = f"Exit codes: {'; '.join(f'{code:d} {code.meaning}' for code in ExitCode)}."

WITHOUT_OPTIMUM = {
    "infeasible": "is infeasible: no point satisfies all its constraints",
    "unbounded": "is unbounded: its objective has no limit",
    "inforunbd": "is infeasible or unbounded",
}
"""What SCIP's statuses that prove the absence of an optimum say about a model."""


class CommandEnd(BifeError):  # noqa: N818 - an end other than a failure is possible
    """Ends a command with a sentence and an exit code of its own."""

    def __init__(self, sentence: str, code: ExitCode) -> None:
        super().__init__(sentence)
        self.code = code


class Interrupted(CommandEnd):
    """Ctrl-C, with what the user can do next."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitCode.INTERRUPTED)


class ReportingGroup(TyperGroup):
    """Turns errors made on purpose into one sentence; others are defects and keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of `ctx`."""
        try:
            return super().invoke(ctx)
        except (BifeError, KeyboardInterrupt, OSError) as error:
            # A closed pipe is the end of whoever read our output; there is nobody left to tell.
            if ctx.obj or isinstance(error, BrokenPipeError):
                raise
            raise report(error) from error


def report(error: BaseException) -> typer.Exit:
    """Print an error as one sentence on standard error and return the end of the program."""
    code = ExitCode.ERROR
    if isinstance(error, CommandEnd):
        code, sentence = error.code, str(error)
    elif isinstance(error, KeyboardInterrupt):
        code, sentence = ExitCode.INTERRUPTED, "Interrupted."
    elif isinstance(error, OSError) and not isinstance(error, BifeError):
        what = error.strerror or str(error) or type(error).__name__
        sentence = f"{error.filename}: {what}." if error.filename else f"{what}."
    else:
        sentence = str(error)
    complain(sentence)
    return typer.Exit(int(code))


def complain(sentence: str) -> None:
    """Print a sentence on standard error, on one line whatever it holds."""
    label = typer.style("Error:", fg=typer.colors.RED, bold=True)
    typer.echo(f"{label} {' '.join(sentence.split())}", err=True)
