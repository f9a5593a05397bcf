"""The expressions of Symb4CO: tokens in prefix order, which of them may come next, and what a sequence means.

All operators take two operands, so an expression is a binary tree: of its tokens, one more than half are leaves.
The grammar of GS4CO (`bife_rivals.gs4co_grammar`) adds functions of one operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from bife_core import FEATURES

OPERATORS: Final = ("+", "-", "*")
COMBINED: Final = (np.add, np.subtract, np.multiply)
CONSTANTS: Final = (2.0, 5.0, 10.0, 0.1, 0.2, 0.5)
"""As published; more of both are an option there."""

Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Grammar:
    """Tokens from 0 on are variables, then constants, then operators, then functions; lengths are in tokens.

    The length is also kept near `soft_length`: leaves are less likely before it, operators after it, by a Gaussian
    with `two_variances` (twice its variance).
    """

    functions: ClassVar[tuple[str, ...]] = ()
    """Names of what takes one operand."""
    names: ClassVar[tuple[str, ...]] = tuple(feature.name for feature in FEATURES)

    variables: int = len(FEATURES)
    least: int = 4
    most: int = 64
    soft_length: int = 20
    two_variances: float = 16.0

    @property
    def leaves(self) -> int:
        """Number of tokens that take no operand."""
        return self.variables + len(CONSTANTS)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return self.leaves + len(OPERATORS) + len(self.functions)

    def allowed(self, length: int, missing: Integers, has_variable: Truths) -> Truths:
        """Return which token may come next in expressions of `length` tokens, one row each.

        `missing` is how many operands are still to come, at least one. No expression ends too early or can end too late
        only, and none is without a variable.
        """
        may = np.ones((len(missing), self.tokens), dtype=bool)
        shortest = length + missing  # if leaves follow from here on
        may[shortest < self.least, : self.leaves] = False
        may[shortest + 2 > self.most, self.leaves :] = False
        may[(missing == 1) & ~has_variable, self.variables : self.leaves] = False
        return may

    def prior(self, length: int) -> Floats:
        """Return what is added to the logits of an expression's next token, by its length so far."""
        added = np.zeros(self.tokens)
        penalty = -((length - self.soft_length) ** 2) / self.two_variances
        if length < self.soft_length:
            added[: self.leaves] = penalty
        elif length > self.soft_length:
            added[self.leaves :] = penalty
        return added

    def formula(self, tokens: Sequence[int], read: str = "") -> str:
        """Return an expression in infix order; `read` is how a variable is written, by default by its name.

        Examples
        --------
        >>> Grammar().formula([80, 20, 78, 73, 18], "x{}")
        'x20 * (5.0 + x18)'
        """
        parts: list[tuple[str, str]] = []
        for token in reversed(tokens):
            if token < self.variables:
                parts.append((read.format(token) or self.names[token], ""))
            elif token < self.leaves:
                parts.append((repr(CONSTANTS[token - self.variables]), ""))
            elif token >= self.leaves + len(OPERATORS):
                name = self.functions[token - self.leaves - len(OPERATORS)]
                parts.append((f"{name}({parts.pop()[0]})", ""))
            else:
                sign = OPERATORS[token - self.leaves]
                (left, inner), (right, other) = parts.pop(), parts.pop()
                if sign == "*" and inner in ("+", "-"):
                    left = f"({left})"
                # To the right also an equal operator keeps its brackets: what is rounded how shall not change.
                if other and not (other == "*" and sign != "*"):
                    right = f"({right})"
                parts.append((f"{left} {sign} {right}", sign))
        ((text, _),) = parts
        return text

    def value(self, tokens: Sequence[int], variables: Sequence[Any], number: type = float) -> Any:
        """Return what an expression without functions is worth, by what its variables are."""
        stack: list[Any] = []
        for token in reversed(tokens):
            if token < self.variables:
                stack.append(variables[token])
            elif token < self.leaves:
                stack.append(number(CONSTANTS[token - self.variables]))
            else:
                stack.append(COMBINED[token - self.leaves](stack.pop(), stack.pop()))
        return stack[0]


class Walk:
    """Expressions being written side by side: what is missing of each, and the parent and sibling of its next token.

    `parent` and `sibling` are tokens, or `Grammar.tokens` where there is none.
    """

    def __init__(self, grammar: Grammar, count: int) -> None:
        self._grammar = grammar
        self.length = 0
        self.missing: Integers = np.ones(count, dtype=np.int64)
        self.has_variable: Truths = np.zeros(count, dtype=bool)
        self.parent: Integers = np.full(count, grammar.tokens)
        self.sibling: Integers = np.full(count, grammar.tokens)
        # Operators whose second operand is to come, with the first token of their first one.
        self._operators = np.zeros((count, grammar.most), dtype=np.int64)
        self._firsts = np.zeros((count, grammar.most), dtype=np.int64)
        self._is_first: Truths = np.zeros(count, dtype=bool)

    def allowed(self) -> Truths:
        """Return which tokens may come next."""
        return self._grammar.allowed(self.length, self.missing, self.has_variable)

    def add(self, tokens: Integers) -> None:
        """Put a token at the end of each expression; what becomes of one that is complete does not matter."""
        rows = np.arange(len(tokens))
        # Of the operators that wait; an operand that comes first belongs to the last of them.
        top = self.missing - 2
        first = self._is_first & (top >= 0)
        self._firsts[rows[first], top[first]] = tokens[first]
        leaf = tokens < self._grammar.leaves
        opens = ~leaf & (tokens < self._grammar.leaves + len(OPERATORS))
        self._operators[rows[opens], top[opens] + 1] = tokens[opens]
        self.missing = self.missing + opens - leaf
        self.has_variable |= tokens < self._grammar.variables
        waiting = np.maximum(self.missing - 1, 0)
        none = self._grammar.tokens
        self.parent = np.where(leaf, self._operators[rows, waiting], tokens)
        self.sibling = np.where(leaf, self._firsts[rows, waiting], none)
        self._is_first = opens
        self.length += 1

    def keep(self, rows: Integers) -> None:
        """Go on with some of the expressions."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[rows])
