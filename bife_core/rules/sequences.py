"""Sequences as the unrolling of a rule knows them: places in the text, never values of a running rule."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Features:
    """The feature vector, or a constant slice of it.

    Attributes
    ----------
    places : range
        Indices of the features, in order.
    """

    places: range


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A list, tuple, range or comprehension, written out.

    Attributes
    ----------
    items : tuple
        Expressions and further sequences.
    conditions : tuple of ast.expr or None
        For a comprehension whose filter depends on the features: the condition under which each item counts.
    """

    items: tuple[Value, ...]
    conditions: tuple[ast.expr, ...] | None = None


Value: TypeAlias = ast.expr | Features | Sequence
"""What an expression of a rule stands for: one number, which code computes, or a sequence, which it never sees."""


def leaves(value: Value) -> Iterator[ast.expr]:
    """Yield the expressions a value holds, conditions last."""
    if isinstance(value, Sequence):
        for item in value.items:
            yield from leaves(item)
        yield from value.conditions or ()
    elif isinstance(value, ast.expr):
        yield value
