"""Recorded nodes as one large graph, and GS4CO's expressions evaluated on it in NumPy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bife_core.decisions.recorded import Decisions
from bife_core.fidelity.measures import chosen_rows
from bife_core.scip.node import Node
from bife_rivals.graphs import join
from bife_rivals.gs4co_grammar import EDGE, FIRST_ROW, GATHERING, GraphGrammar
from bife_rivals.symb4co_grammar import CONSTANTS, Floats, Integers
from bife_rivals.symb4co_policy import Batch

_GRAMMAR: Final = GraphGrammar()
_UFUNCS: Final = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}
_COMBINED: Final = (np.add, np.subtract, np.multiply)
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
        found = np.zeros(len(self.degrees), self.values.dtype)
        each = np.broadcast_to(np.asarray(self.each(value), found.dtype), self.values.shape)
        found[self.reached] = _UFUNCS[how].reduceat(each, self.begins)
        if how == "mean":
            found[self.reached] /= self.degrees[self.reached]
        return found


class GraphSamples:
    """Expert samples as one graph; features are taken as they are."""

    def __init__(self, decisions: Decisions, nodes: Sequence[Node], number: type = np.float32) -> None:
        self._offsets, self._best = decisions.offsets, decisions.best
        g = join(nodes, [0] * len(nodes), len(nodes))
        features = (g.variables[g.candidates], g.rows, g.variables)
        self._features: list[Floats] = [np.ascontiguousarray(one.T, number) for one in features]
        # To candidates, and to rows.
        near, far = g.near_values.astype(number), g.edge_values.astype(number)
        to_candidates = _Edges(g.near_candidates, g.near_rows, near, len(g.candidates))
        self._edges = (to_candidates, _Edges(g.edge_rows, g.edge_variables, far, len(g.rows)))
        self._gathered = lru_cache(maxsize=64)(self._gather)

    def scores(self, tokens: Sequence[int]) -> Any:
        """Return the score an expression gives each candidate."""
        value = self._value(tuple(tokens), 0, 0)[0][1]
        return np.asarray(value[: len(self._best)], dtype=np.float64)

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
            return (False, self._gathered(tokens[at:end], depth)), end
        left, middle = self._value(tokens, at + 1, depth)
        right, end = self._value(tokens, middle, depth)
        of_edges = left[0] or right[0]
        one, other = (self._edges[depth - 1].each(side) if of_edges else side[1] for side in (left, right))
        return (of_edges, _COMBINED[token - _GRAMMAR.leaves](one, other)), end

    def _gather(self, tokens: tuple[int, ...], depth: int) -> Any:
        value, _ = self._value(tokens, 1, depth + 1)
        return self._edges[depth].gathered(GATHERING[tokens[0] - _GRAMMAR.gathering], value)

    def judge(self, batch: Batch) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint64]]:
        """Return the imitation accuracy of each expression, and a hash of its choices."""
        known: dict[tuple[int, ...], tuple[float, int]] = {}
        expressions = [tuple(batch.expression(row)) for row in range(len(batch.lengths))]
        with np.errstate(all="ignore"):  # what overflows is not chosen
            for tokens in expressions:
                if tokens not in known:
                    chosen = chosen_rows(np.ascontiguousarray(self.scores(tokens)), self._offsets)
                    digest = hashlib.sha256(chosen.tobytes()).digest()[:8]
                    right = float(np.mean(self._best[chosen] & (chosen >= 0)))
                    known[tokens] = right, int.from_bytes(digest, "big")
        accuracy, choices = zip(*(known[tokens] for tokens in expressions), strict=True)
        return np.array(accuracy), np.array(choices, dtype=np.uint64)
