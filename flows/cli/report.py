"""`bife report`: the page of an evaluation, or of several together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.consoles import say, show_facts, standard_output


def report(
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REF]...",
            show_default="the newest evaluation",
            help="Evaluations: ids of their MLflow runs, or their folders. Several make one page.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where to write page, tables and figures.", show_default="beside the solves"
        ),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write all figures too, as PNG, SVG and PDF.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write the report of evaluations anew: page, Markdown and LaTeX tables, and say where they are."""
    console = standard_output()
    with console.status("Drawing ..."):
        from bife_core.plots import save
        from bife_core.report import report_figures
        from tasks.evaluation_files import PAGE, TABLES, load_report, write_report

        told, directory = load_report(references or ())
        place = (to or directory).absolute()
        drawn = report_figures(told)
        write_report(place, told, drawn)
        for one in drawn if figures else ():
            save(one.figure, place / "figures", one.name)
    say(console, told.conclusion)
    console.print()
    rows = [
        ("page", str(place / PAGE)),
        *((f"table ({name[-3:].strip('.')})", str(place / name)) for name in TABLES),
        *([("figures", str(place / "figures"))] if figures else ()),
    ]
    show_facts(console, rows)
    if show:
        typer.launch((place / PAGE).as_uri())
