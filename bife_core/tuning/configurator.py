"""Configurations that a language model proposes before any is tried, as they are read from its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bife_core.search.generators.parsing import printable, without_reasoning
from bife_core.tuning.space import Choices, Space

MOST: Final = 6
_LONGEST: Final = 1000
"""Configurations that are read of an answer, and characters of the reason for one."""

_ASSIGNED: Final = re.compile(
    r"""^\W*([A-Za-z][\w/]*)(?:`?\s*=|"\s*:)\s*["'`]?([^\s"'`,;{[]+)\W*(?:[#(].*)?$"""
)
"""A line ``name = value``, or one of JSON that is written over several lines; a remark may follow."""


def read_configurations(answer: str, space: Space) -> list[tuple[Choices, str]]:
    """Return the configurations in a model's answer, each with the words before it and what of it is left out."""
    rows, found = {row.name: row.choices for row in space.rows}, list[tuple[Choices, str]]()
    for reason, settings in _blocks(without_reasoning(answer)):
        choices, left_out = Choices(), list[str]()
        for name, value in settings.items():
            if name not in rows:
                left_out.append(f"{name} = {value}, which is no row of the table")
            elif known := next((choice for choice in rows[name] if choice.lower() == value.lower()), None):
                choices[name] = known
            else:
                left_out.append(f"{name} = {value}, which is none of {', '.join(rows[name])}")
        reason += "".join(f" [left out: {one}]" for one in left_out)
        found.append((space.counting(choices), printable(reason)[:_LONGEST]))
    return found[:MOST]


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield groups of assignments, each with the last line of words before it."""
    reason, settings = "", dict[str, str]()
    for line in [*text.splitlines(), ""]:
        if assigned := _ASSIGNED.match(line):
            settings[assigned[1]] = assigned[2].rstrip(".*")
            continue
        if settings:
            yield reason or "no reason given", settings
            reason, settings = "", {}
        words = line.strip('`[]{}," ').removeprefix('reason": "')
        reason = reason if not words or words.endswith(":") else words
