"""The program: its commands, its options before any command, and what becomes of errors."""

from __future__ import annotations

import gc
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from flows.cli import checks, config, demo, export, plugins, report, rules, solve, stages, track, up
from flows.cli.outcome import EXIT_CODES, ReportingGroup

app = typer.Typer(
    name="bife",
    cls=ReportingGroup,
    help="Discover branching rules for mixed-integer solvers by bi-fidelity evolution, and use them.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # Tracebacks are shown on request only, and never with local variables: these may hold keys.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DISCOVER = "Discover"
_USE = "Use"
_OPERATE = "Operate"
_LOOK = "Look around"

app.command("demo", rich_help_panel=_DISCOVER)(demo.demo)
app.command("run", rich_help_panel=_DISCOVER)(stages.run)
app.command("collect", rich_help_panel=_DISCOVER)(stages.collect)
app.command("evolve", rich_help_panel=_DISCOVER)(stages.evolve)
app.command("evaluate", rich_help_panel=_DISCOVER)(stages.evaluate)
app.command("report", rich_help_panel=_DISCOVER)(report.report)
app.command("solve", rich_help_panel=_USE)(solve.solve)
app.command("export", rich_help_panel=_USE)(export.export)
app.add_typer(rules.app, name="rules", rich_help_panel=_USE)
app.command("up", rich_help_panel=_OPERATE)(up.up)
app.command("down", rich_help_panel=_OPERATE)(up.down)
app.command("status", rich_help_panel=_OPERATE)(up.status)
app.command("track", rich_help_panel=_OPERATE)(track.track)
app.command("ui", rich_help_panel=_LOOK)(up.ui)
app.command("config", rich_help_panel=_LOOK)(config.config)
app.command("plugins", rich_help_panel=_LOOK)(plugins.plugins)
app.command("doctor", rich_help_panel=_LOOK)(checks.doctor)


def _print_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        typer.echo(f"bife {version('bife-branching')}")
    except PackageNotFoundError:
        typer.echo("bife, from a source tree that is not installed")
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
    # What is imported stays; at Python's own pace the collector looks through it again and again meanwhile.
    gc.set_threshold(100_000, 20, 20)
    app(prog_name="bife")
