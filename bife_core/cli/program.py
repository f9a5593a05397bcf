"""The program: its commands, its options before any command, and what becomes of errors."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from bife_core.base import VERSION
from bife_core.cli.options import Command
from bife_core.cli.outcome import EXIT_CODES, ReportingGroup

_OPERATE: Final = "Operate"  # where the commands of the backend are listed, after those for use

_COMMANDS: Final = {
    **dict.fromkeys(("demo", "run", "collect", "search", "evaluate", "tune"), ("Discover", "stages")),
    **{"score": ("Discover", "score"), "report": ("Discover", "look")},
    **{name: ("Use", name) for name in ("solve", "series")},
    **dict.fromkeys(("export", "rules"), ("Use", "rules")),
    **{_OPERATE: (_OPERATE, "backend")},
    **dict.fromkeys(("config", "calls", "plugins"), ("Look around", "look")),
    **{"doctor": ("Look around", "doctor")},
}
"""Panel and module of each command, in the order of the help."""


def program(words: Sequence[str] = ()) -> typer.Typer:
    """Return the program with the one command that the words of a command line call, or with all.

    Others are not even imported.
    """
    called = next((word for word in words if not word.startswith("-")), None)
    app = typer.Typer(
        name="bife",
        cls=ReportingGroup,
        help="Find settings and branching rules that make SCIP fast on a family of instances, and use them.",
        epilog=EXIT_CODES,
        no_args_is_help=True,
        rich_markup_mode=None,  # rich takes as long to import as all the rest of a help
        # Tracebacks are shown on request only, and never with local variables: these may hold keys.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )
    app.callback()(_options)
    for name in [called] if called in _COMMANDS else _COMMANDS:
        panel, where = _COMMANDS[name]
        module = import_module(f"bife_core.cli.{where}")
        if name == "rules":
            app.add_typer(module.app, name=name, rich_help_panel=panel)
            continue
        for function in module.backend().commands if name == _OPERATE else [getattr(module, name)]:
            app.command(cls=Command, rich_help_panel=panel)(function)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bife {VERSION}")
        raise typer.Exit


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
    warnings.showwarning = lambda message, *_where, **_how: typer.echo(f"note: {message}", err=True)
    # What is imported stays; at Python's own pace the collector looks through it again and again meanwhile.
    gc.set_threshold(100_000, 20, 20)
    # NumPy starts one a core, as long as it takes to import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    program(sys.argv[1:])(prog_name="bife")
