"""Where commands write: a console that knows whether a person is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from textwrap import indent

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

_WIDTH_WITHOUT_TERMINAL = 120
"""Columns of tables in files and pipes; nobody's window limits them there."""


def standard_output() -> Console:
    """Return a console on standard output, as it is at this moment."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return Console(highlight=False)
    return Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)


def duration(seconds: float) -> str:
    """Return seconds the way a person reads them.

    Examples
    --------
    >>> duration(7.31), duration(75), duration(4000)
    ('7 s', '1:15', '1:06:40')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, or a dash for None."""
    return "-" if value is None else f"{value:.{digits}g}"


def full_name(method: str) -> str:
    """Return a method's name, with the one it is known by in the literature."""
    return "RPB (relpscost)" if method == "relpscost" else method


def show_heading(console: Console, text: str) -> None:
    """Print a line that begins a section."""
    console.print()
    console.print(text, style="bold cyan", markup=False)


def show_facts(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Print labelled facts, one a line, never broken: what stands there is meant to be copied."""
    width = max((len(label) for label, _ in rows), default=0)
    for label, fact in rows:
        console.print(Text.assemble((label.ljust(width), "bold"), f"  {fact}"), soft_wrap=True)


def show_code(console: Console, source: str) -> None:
    """Print a rule's source, indented, in colours where there are any."""
    lexer = Syntax("", "python", theme="ansi_dark", background_color="default")
    console.print(lexer.highlight(indent(source.strip("\n"), "  ")), soft_wrap=True)


def show_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, numbers: bool = True
) -> None:
    """Print a table without lines; all columns but the first stand to the right if they are numbers."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for position, name in enumerate(columns):
        table.add_column(name, justify="right" if numbers and position else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console.print(table)


def say(console: Console, sentence: str) -> None:
    """Print a sentence as it is, however long and whatever it holds."""
    console.print(sentence, markup=False, soft_wrap=True)
