"""The program: its commands, its options before any command, and what becomes of errors."""

from __future__ import annotations

import gc
import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from bife_core.cli.backend import backend
from bife_core.cli.doctor import doctor
from bife_core.cli.look import calls, config, plugins, report
from bife_core.cli.options import Command
from bife_core.cli.outcome import EXIT_CODES, ReportingGroup
from bife_core.cli.rules import app as rules, export
from bife_core.cli.score import score
from bife_core.cli.series import series
from bife_core.cli.solve import solve
from bife_core.cli.stages import collect, demo, evaluate, run, search, tune

app = typer.Typer(
    name="bife",
    cls=ReportingGroup,
    help="Find settings and branching rules that make SCIP fast on a family of instances, and use them.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # Tracebacks are shown on request only, and never with local variables: these may hold keys.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for panel, commands in {
    "Discover": (demo, run, collect, search, evaluate, tune, score, report),
    "Use": (solve, series, export),
    "Operate": backend().commands,
    "Look around": (config, calls, plugins, doctor),
}.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=panel)(command)
app.add_typer(rules, name="rules", rich_help_panel="Use")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bife {version('bife-branching')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="BIFE_DEBUG", help="Show the traceback of an error.")
    ] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = debug


def main() -> None:
    """Run the command line of this process and exit."""
    for stream in (sys.stdout, sys.stderr):  # names of files may be no text
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # What is imported stays; at Python's own pace the collector looks through it again and again meanwhile.
    gc.set_threshold(100_000, 20, 20)
    app(prog_name="bife")
