"""The numbers in a rule's text that may be tuned."""

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
from bife_core.language.syntax import NOT_PYTHON, assigned, functions_in, syntax_tree

GUARD: Final = 1e-4
"""Numbers up to this size only keep divisors from zero."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A floating-point number in a text: its line, from 0, its bytes, and whether the scoring function has it."""

    value: float
    line: int
    begin: int
    end: int
    of_score: bool


def literals(source: str) -> list[Literal]:
    """Return the numbers of a rule that may be tuned, in the order of the text: floats above `GUARD`."""
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
    numbers = [
        Literal(node.value, node.lineno - 1, node.col_offset, node.end_col_offset or 0, id(node) in inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and math.isfinite(node.value)
        and node.value > GUARD
        and node.lineno == node.end_lineno
    ]
    return sorted(numbers, key=lambda literal: (literal.line, literal.begin))


def gates(source: str) -> dict[tuple[int, int], int]:
    """Return the features that literals of an allowed rule are compared with, by the literals' line and first byte.

    Names that are assigned once, to a feature or to all features, count as what they stand for.
    """
    module = Module.of(syntax_tree(source), BRANCHING)
    function = module.functions[BRANCHING.function]
    stored = Counter(assigned(function))
    arrays, feature_of = set(parameters(function)), dict[str, int]()

    def feature(node: ast.expr) -> int | None:
        match node:
            case ast.Name(id=name):
                return feature_of.get(name)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in arrays:
                number = module.number(index, local=stored)
                return number if isinstance(number, int) else None
        return None

    compared = dict[tuple[int, int], int]()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                if isinstance(value, ast.Name) and value.id in arrays:
                    arrays.add(name)
                elif (index := feature(value)) is not None:
                    feature_of[name] = index
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for left, right in [*pairwise(sides), *pairwise(sides[::-1])]:
                    if (index := feature(left)) is not None:
                        compared[right.lineno - 1, right.col_offset] = index
    return compared


def with_literals(source: str, places: Sequence[Literal], texts: Sequence[str]) -> str:
    """Return the source with texts in place of some of its literals, in their order."""
    lines = source.encode().splitlines(keepends=True)
    for place, text in reversed([*zip(places, texts, strict=True)]):
        # Columns of a syntax tree count bytes.
        line = lines[place.line]
        lines[place.line] = line[: place.begin] + text.encode() + line[place.end :]
    return b"".join(lines).decode()
