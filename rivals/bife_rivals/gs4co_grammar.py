"""The expressions of GS4CO, over the bipartite graph of a node: Symb4CO's, and what gathers over edges.

An expression at a variable reads features of the variable (``v.``) and, by sum, mean, max or min over its edges,
messages from its rows. A message reads features of the row (``r.``), the edge (``e.value``) and, by the same four over
the edges of the row, messages from variables; these read the variable and the edge, and gather no more.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from bife_core.extend import ROW_FEATURES, VARIABLE_FEATURES
from bife_rivals.symb4co_grammar import CONSTANTS, OPERATORS, Floats, Grammar, Integers, Truths, Walk

NAMES: Final = (
    *(f"v.{name}" for name in VARIABLE_FEATURES),
    *(f"r.{name}" for name in ROW_FEATURES),
    "e.value",
)
FIRST_ROW: Final = len(VARIABLE_FEATURES)
EDGE: Final = len(NAMES) - 1
GATHERING: Final = ("sum", "mean", "max", "min")
DEEPEST: Final = 2
"""How often what is gathered may gather itself."""

LEVELS: Final = 16
"""Operators above a token, the nearest ones, that give its place in the tree."""

FORBIDDEN: Final = -1e9
"""Added to the logit of a token that may not come next: its probability is 0."""


@dataclass(frozen=True)
class GraphGrammar(Grammar):
    """Variables are features of variables, rows and edges; functions gather."""

    functions: ClassVar[tuple[str, ...]] = GATHERING
    names: ClassVar[tuple[str, ...]] = NAMES

    variables: int = len(NAMES)
    soft_length: int = 32

    @property
    def gathering(self) -> int:
        """The first token that gathers."""
        return self.leaves + len(OPERATORS)

    @property
    def readable(self) -> Truths:
        """Which token may stand at a variable, in a message to it, and in a message to a row of that, (3, tokens)."""
        may = np.ones((DEEPEST + 1, self.tokens), dtype=bool)
        may[[0, 2], FIRST_ROW:EDGE] = False
        may[0, EDGE] = False
        may[1, :FIRST_ROW] = False
        may[DEEPEST, self.gathering :] = False
        return may

    def end(self, tokens: Sequence[int], at: int) -> int:
        """Return where the part of an expression ends that begins at a place."""
        missing = 1
        while missing:
            missing += int(self.leaves <= tokens[at] < self.gathering) - int(tokens[at] < self.leaves)
            at += 1
        return at

    def parsed(self, text: str) -> list[int]:
        """Return the tokens of a formula, or raise a `ValueError` that says what is none.

        Examples
        --------
        >>> GraphGrammar().parsed("v.fraction + sum(0.5 * r.dual)")
        [31, 9, 34, 33, 30, 23]
        """
        signs = {ast.Add: 0, ast.Sub: 1, ast.Mult: 2}
        readable = self.readable

        def read(node: ast.AST, depth: int) -> list[int]:
            match node:
                case ast.BinOp(left, operator, right) if type(operator) in signs:
                    sign = self.leaves + signs[type(operator)]
                    return [sign, *read(left, depth), *read(right, depth)]
                case ast.Call(ast.Name(name), [inner], []) if name in GATHERING and depth < DEEPEST:
                    return [self.gathering + GATHERING.index(name), *read(inner, depth + 1)]
                case ast.Constant(float() | int() as value) if value in CONSTANTS:
                    return [self.variables + CONSTANTS.index(value)]
            name = ast.unparse(node)
            if name in NAMES and readable[depth, NAMES.index(name)]:
                return [NAMES.index(name)]
            where = ("at a variable", "in a message to a variable", "in a message to a row")[depth]
            raise ValueError(
                f"an expression {where} was expected, and {name[:60]!r} found; see docs/research/rivals.md"
            )

        try:
            return read(ast.parse(text.strip(), mode="eval").body, 0)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(
                f"a formula was expected, and {text[:60]!r} found ({type(error).__name__})"
            ) from None


class GraphWalk(Walk):
    """Expressions being written: also how deep the next token is gathered, and its place in the tree.

    `place` has two columns for each of the nearest `LEVELS` operators above it, the nearest first: whether it belongs
    to the first or to the second operand.
    """

    def __init__(self, grammar: GraphGrammar, count: int) -> None:
        super().__init__(grammar, count)
        self._readable, self._gathering = grammar.readable, grammar.gathering
        self.depth: Integers = np.zeros(count, dtype=np.int64)
        self.place: Floats = np.zeros((count, 2 * LEVELS), dtype=np.float32)
        # Of the second operands to come.
        self._depths = np.zeros((count, grammar.most), dtype=np.int64)
        self._places = np.zeros((count, grammar.most, 2 * LEVELS), dtype=np.float32)

    def allowed(self) -> Truths:
        """Return which tokens may come next."""
        return super().allowed() & self._readable[self.depth]

    def added(self) -> Floats:
        """Return what is added to the logits of the next tokens: what may come, and the soft length.

        A leaf that would end an expression is less likely before that length, operators are after it.
        """
        grammar = self._grammar
        added = np.where(self.allowed(), 0.0, FORBIDDEN).astype(np.float32)
        penalty = -((self.length - grammar.soft_length) ** 2) / grammar.two_variances
        if self.length < grammar.soft_length:
            added[self.missing == 1, : grammar.leaves] += penalty
        else:
            added[:, grammar.leaves :] += penalty
        return added

    def add(self, tokens: Integers) -> None:
        """Put a token at the end of each expression."""
        rows, waiting = np.arange(len(tokens)), self.missing - 1
        first, second = (np.roll(self.place, 2, axis=1) for _ in range(2))
        first[:, :2], second[:, :2] = (1, 0), (0, 1)
        leaf, gathers = tokens < self._grammar.leaves, tokens >= self._gathering
        opens = ~leaf & ~gathers
        self._depths[rows[opens], waiting[opens]] = self.depth[opens]
        self._places[rows[opens], waiting[opens]] = second[opens]
        super().add(tokens)
        waiting = np.maximum(self.missing - 1, 0)
        self.depth = np.where(leaf, self._depths[rows, waiting], self.depth + gathers)
        self.place = np.where(leaf[:, np.newaxis], self._places[rows, waiting], first)
