"""What commands print with: sentences, labelled facts, tables and a rule's source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_FOLDED: Final = 32  # characters at which the last column of a table breaks words


def standard_output() -> Console:
    """Return a console on standard output, as it is at this moment."""
    from rich.console import Console

    narrow = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return Console(highlight=False, emoji=False, width=None if narrow else 120)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, or a dash for None."""
    return "-" if value is None else f"{value:.{digits}g}"


def full_name(method: str) -> str:
    """Return a method's name, with the one it is known by in the literature."""
    return "RPB (relpscost)" if method == "relpscost" else method


def say(sentence: str = "") -> None:
    """Print a sentence as it is, however long and whatever it holds."""
    print(sentence, flush=True)  # also into a pipe, where a person may be waiting for it


def styled(text: str, style: str) -> Text:
    """Return a text in a style, to be shown as a fact or in a table."""
    from rich.text import Text

    return Text(text, style=style)


def show_heading(text: str) -> None:
    """Print a line that begins a section."""
    say()
    standard_output().print(text, style="bold cyan", markup=False)


def show_facts(rows: Sequence[tuple[str, str | Text]]) -> None:
    """Print labelled facts, one a line and never broken, so that they can be copied."""
    from rich.text import Text

    width = max((len(label) for label, _ in rows), default=0)
    for label, fact in rows:
        standard_output().print(Text.assemble((label.ljust(width), "bold"), "  ", fact), soft_wrap=True)


def show_code(source: str) -> None:
    """Print a rule's source, indented, in colours where there are any."""
    from rich.syntax import Syntax

    lexer = Syntax("", "python", theme="ansi_dark", background_color="default")
    standard_output().print(lexer.highlight(indent(source.strip("\n"), "  ")), soft_wrap=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, numbers: bool = True) -> None:
    """Print a table without lines; all columns but the first are aligned right if they are numbers.

    Only the last column, which may hold a path, breaks words. Where the others do not fit, each row is a list of facts.
    """
    from rich.table import Table
    from rich.text import Text

    console = standard_output()
    rows = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    cells = list(zip(map(Text, columns), *rows, strict=True))
    widths = [max(len(word) for cell in column for word in ("", *cell.plain.split())) for column in cells]
    widths[-1] = min(widths[-1], _FOLDED)
    spare = console.width - sum(widths) - 2 * len(columns)
    if spare < 0:
        for row in rows:
            show_facts(list(zip(columns, row, strict=True)))
            say()
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for position, name in enumerate(columns):
        lines = [line for cell in cells[position] for line in cell.plain.split("\n")]
        more = min(max(map(len, lines)) - widths[position], spare)
        spare -= more
        justify: Literal["left", "right"] = "right" if numbers and position else "left"
        table.add_column(Text(name), justify=justify, overflow="fold", width=widths[position] + more)
    for row in rows:
        table.add_row(*row)
    console.print(table)
