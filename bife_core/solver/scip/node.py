"""A node for scorers in Python: its candidates, and its LP as a bipartite graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bife_core.language.components import BRANCHING
from bife_core.solver.scip.compiled import layout

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

VARIABLE_FEATURES: Final = (
    *("type_binary", "type_integer", "type_implied", "type_continuous", "objective"),
    *("has_lower", "has_upper", "at_lower", "at_upper", "fraction"),
    *("basis_lower", "basis_basic", "basis_upper", "basis_zero"),
    *("reduced_cost", "age", "value", "incumbent", "mean_incumbent"),
)
"""Columns of `Node.variables`, see `docs/reference/features.md`."""

ROW_FEATURES: Final = ("objective_cosine", "bias", "tight", "age", "dual")


def features_at(state: Integers, n: int, read: frozenset[int] | None) -> Floats:
    """Copy the features of n candidates from the compiled code's state; columns not `read` are 0."""
    width = BRANCHING.n_features
    features = layout.array_at(int(state[layout.MATRIX]), (n, width), np.float64).copy()
    if read is not None:
        features[:, sorted(set(range(width)) - read)] = 0.0
    return features


@dataclass(frozen=True, eq=False)
class Node:
    """A node with n candidates; v columns of the LP are variables, r finite sides of its rows are rows.

    Attributes
    ----------
    features : (n, n_features) float64
        Features of the candidates; columns that the scorer does not read are 0.
    candidates : (n,) int64
        Their variables.
    variables : (v, 19) float64
        `VARIABLE_FEATURES`; without a graph only those of the candidates are set.
    rows : (r, 5) float64
        `ROW_FEATURES`; empty without a graph.
    edge_starts : (r + 1,) int64
        Row i has the edges from ``edge_starts[i]`` up to ``edge_starts[i + 1]``.
    edge_variables, edge_values : (e,) int64, (e,) float64
        Variable of each edge; its coefficient divided by the norm of the row.
    first, depth : bool, int
        Whether it is the scorer's first node of a solve or restart; depth in the tree, 0 at the root.
    """

    features: Floats
    candidates: Integers
    variables: Floats
    rows: Floats
    edge_starts: Integers
    edge_variables: Integers
    edge_values: Floats
    first: bool
    depth: int

    @property
    def edge_rows(self) -> Integers:
        """Row of each edge, (e,) int64."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.edge_starts))

    def __getitem__(self, part: slice) -> Node:
        """Return the node with a part of its candidates."""
        return replace(self, features=self.features[part], candidates=self.candidates[part])

    @classmethod
    def at(cls, address: int, features: Floats) -> Node:
        """Copy a node from the words that `NodeMethod` describes."""
        words = layout.array_at(address, (layout.NODE_WORDS,), np.int64).tolist()
        (_, variables, n_variables, candidates, rows, n_rows) = words[:6]
        (starts, edge_variables, edge_values, first, depth) = words[6:11]

        def array(at: int, *shape: int, of: type = np.float64) -> npt.NDArray[Any]:
            return layout.array_at(at, shape, of).copy()

        edge_starts = array(starts, n_rows + 1, of=np.int64) if n_rows else np.zeros(1, np.int64)
        return cls(
            features=features,
            candidates=array(candidates, len(features), of=np.int64),
            variables=array(variables, n_variables, layout.N_VARIABLE),
            rows=array(rows, n_rows, layout.N_ROW),
            edge_starts=edge_starts,
            edge_variables=array(edge_variables, int(edge_starts[-1]), of=np.int64),
            edge_values=array(edge_values, int(edge_starts[-1])),
            first=bool(first),
            depth=depth,
        )
