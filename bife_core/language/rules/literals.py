"""The numbers in a rule's text that may be other numbers."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bife_core.language.components import BRANCHING
from bife_core.language.rules.module import Module, parameters
from bife_core.language.syntax import NOT_PYTHON, functions_in, syntax_tree

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


def gates(source: str) -> dict[tuple[int, int], int]:
    """Return the features that literals of a sound rule are compared with, by their line and first byte.

    Seen are a feature itself and a name that is given one once; names that stand for all features are too.
    """
    module = Module.of(syntax_tree(source), BRANCHING)
    function = module.functions[BRANCHING.function]
    stored = Counter(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    whole, held = set(parameters(function)), dict[str, int]()

    def feature(node: ast.expr) -> int | None:
        match node:
            case ast.Name(id=name):
                return held.get(name)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in whole:
                number = module.number(index, local=stored)
                return number if isinstance(number, int) else None
        return None

    found = dict[tuple[int, int], int]()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                if isinstance(value, ast.Name) and value.id in whole:
                    whole.add(name)
                elif (index := feature(value)) is not None:
                    held[name] = index
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for one, other in [*pairwise(sides), *pairwise(sides[::-1])]:
                    if (index := feature(one)) is not None:
                        found[other.lineno - 1, other.col_offset] = index
    return found


def with_literals(source: str, places: Sequence[Literal], texts: Sequence[str]) -> str:
    """Return the source with texts in place of some of its literals, in their order; nothing else changes."""
    lines = source.encode().splitlines(keepends=True)
    for place, text in reversed([*zip(places, texts, strict=True)]):
        # Columns of a syntax tree count bytes.
        line = lines[place.line]
        lines[place.line] = line[: place.begin] + text.encode() + line[place.end :]
    return b"".join(lines).decode()
