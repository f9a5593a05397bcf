"""The numbers in a rule's text that may be other numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bife_core.components import BRANCHING
from bife_core.syntax import NOT_PYTHON, functions_in, syntax_tree

GUARD: Final = 1e-4
"""Numbers up to this size keep divisors from zero; they are no parameters."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A floating-point number in a text: its line from 0, the bytes in it, and whether the scoring function has it."""

    value: float
    line: int
    begin: int
    end: int
    of_score: bool


def literals(source: str) -> list[Literal]:
    """Return the numbers of a rule that may be tuned, in the order of the text; none of what is no Python.

    Feature indices and other whole numbers, guards such as 1e-9, and numbers in docstrings are none.
    """
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON:
        return []
    inside = {
        id(inner)
        for name, function in functions_in(tree).items()
        if name == BRANCHING.function
        for statement in function.body
        for inner in ast.walk(statement)
    }
    found = [
        Literal(node.value, node.lineno - 1, node.col_offset, node.end_col_offset or 0, id(node) in inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and math.isfinite(node.value)
        and node.value > GUARD
        and node.lineno == node.end_lineno
    ]
    return sorted(found, key=lambda literal: (literal.line, literal.begin))


def with_literals(source: str, places: Sequence[Literal], texts: Sequence[str]) -> str:
    """Return the source with texts in place of some of its literals, in their order; nothing else changes."""
    lines = source.encode().splitlines(keepends=True)
    for place, text in reversed([*zip(places, texts, strict=True)]):
        # Columns of a syntax tree count bytes.
        line = lines[place.line]
        lines[place.line] = line[: place.begin] + text.encode() + line[place.end :]
    return b"".join(lines).decode()
