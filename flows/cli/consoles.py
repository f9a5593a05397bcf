"""Where commands write: a console that knows whether a person is watching."""

from __future__ import annotations

import os
import sys

from rich.console import Console

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
