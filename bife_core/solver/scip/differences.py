"""What readers take otherwise than one would guess: the table `differences.toml`, its refusals and its notes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NoReturn

TABLE: Final = Path(__file__).with_name("differences.toml")


@cache
def differences() -> dict[str, dict[str, dict[str, str]]]:
    """Return the cases of the table by format and name."""
    import tomllib

    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def note(case: str) -> str:
    """Return the sentence on a case such as ``mps.objname``, which SCIP reads as it is meant and others otherwise."""
    format_, _, name = case.partition(".")
    words = differences()[format_][name]
    return "{construct}: SCIP {scip}; {others}.".format(**words).replace("`", "")


class MisreadError(Exception):
    """Says what SCIP would misread in a line of a text, 0 for all of it, and what to do: a `case` with its `parts`."""

    def __init__(self, case: str, *parts: object, line: int = 0) -> None:
        format_, _, name = case.partition(".")
        super().__init__(differences()[format_][name]["refused"].format(*parts))
        self.line = line


def refuse(text: bytes, position: int, case: str, *parts: object) -> NoReturn:
    """Raise a `MisreadError` for the line of a position."""
    raise MisreadError(case, *parts, line=text.count(b"\n", 0, position) + 1)
