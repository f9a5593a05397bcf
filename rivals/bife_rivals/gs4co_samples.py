"""Recorded nodes as one graph, and GS4CO's expressions evaluated on it in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from bife_core import Decisions
from bife_core.extend import Node
from bife_rivals.graphs import join
from bife_rivals.gs4co_grammar import EDGE, FIRST_ROW, GATHERING, GraphGrammar
from bife_rivals.symb4co_grammar import COMBINED, CONSTANTS, Floats, Integers
from bife_rivals.symb4co_training import Samples

_GRAMMAR: Final = GraphGrammar()
_UFUNCS: Final = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}
Value = tuple[bool, Any]
"""Whether there is a value for each edge, or else for each vertex the edges come from, and the values."""


class _Edges:
    """Edges by the vertex they lead to: from which vertex each comes, its value, and where those of a vertex begin."""

    def __init__(self, target: Integers, source: Integers, values: Floats, targets: int) -> None:
        order = np.argsort(target, kind="stable")
        self.source, self.values = source[order], values[order]
        self.degrees = np.bincount(target, minlength=targets)
        self.reached = np.flatnonzero(self.degrees)
        self.begins = (np.cumsum(self.degrees) - self.degrees)[self.reached]

    def each(self, value: Value) -> Any:
        """Return a value for each edge."""
        return value[1] if value[0] or np.ndim(value[1]) == 0 else value[1][self.source]

    def gathered(self, how: str, value: Value) -> Any:
        """Return sum, mean, max or min at each vertex, 0 where no edge leads."""
        sums = np.zeros(len(self.degrees), self.values.dtype)
        each = np.broadcast_to(np.asarray(self.each(value), sums.dtype), self.values.shape)
        sums[self.reached] = _UFUNCS[how].reduceat(each, self.begins)
        if how == "mean":
            sums[self.reached] /= self.degrees[self.reached]
        return sums


class GraphSamples(Samples):
    """Features are those of the nodes, which are one graph, as they are."""

    def __init__(self, decisions: Decisions, nodes: Sequence[Node], number: type = np.float32) -> None:
        super().__init__(decisions)
        g = join(nodes, [0] * len(nodes), len(nodes))
        features = (g.variables[g.candidates], g.rows, g.variables)
        self._features: list[Floats] = [np.ascontiguousarray(values.T, number) for values in features]
        # To candidates, and to rows.
        near, far = g.near_values.astype(number), g.edge_values.astype(number)
        to_candidates = _Edges(g.near_candidates, g.near_rows, near, len(g.candidates))
        self._edges = (to_candidates, _Edges(g.edge_rows, g.edge_variables, far, len(g.rows)))

    def scores(self, tokens: tuple[int, ...]) -> Any:
        """Return the score an expression gives each candidate."""
        return self._value(tokens, 0, 0)[0][1][: len(self.best)]

    def _value(self, tokens: tuple[int, ...], at: int, depth: int) -> tuple[Value, int]:
        """Return the value of the part that begins at a place, and where the next one does."""
        token = tokens[at]
        if token < EDGE:
            return (False, self._features[depth][token - (FIRST_ROW if depth == 1 else 0)]), at + 1
        if token == EDGE:
            return (True, self._edges[depth - 1].values), at + 1
        if token < _GRAMMAR.leaves:
            return (False, self._features[0].dtype.type(CONSTANTS[token - _GRAMMAR.variables])), at + 1
        if token >= _GRAMMAR.gathering:
            end = _GRAMMAR.end(tokens, at)
            return (False, _gathered(self, tokens[at:end], depth)), end
        left, middle = self._value(tokens, at + 1, depth)
        right, end = self._value(tokens, middle, depth)
        of_edges = left[0] or right[0]
        values, other = (self._edges[depth - 1].each(side) if of_edges else side[1] for side in (left, right))
        return (of_edges, COMBINED[token - _GRAMMAR.leaves](values, other)), end

    def gathered(self, tokens: tuple[int, ...], depth: int) -> Any:
        """Return what a part of an expression, which begins by gathering, gives each vertex."""
        value, _ = self._value(tokens, 1, depth + 1)
        return self._edges[depth].gathered(GATHERING[tokens[0] - _GRAMMAR.gathering], value)


# One for all samples: many expressions gather the same, of the samples that are worked on.
_gathered = lru_cache(maxsize=64)(GraphSamples.gathered)
