"""The nodes of recorded decisions as bipartite graphs, in a file of NumPy arrays beside the decisions.

Decision t has ``n_variables[t]`` rows of `variables` (`VARIABLE_FEATURES`, 19), ``n_rows[t]`` rows of `rows`
(`ROW_FEATURES`, 5) and ``n_candidates[t]`` items of `candidates`, positions among its variables. Its edges are those of
structure ``structure[t]``, since most nodes share theirs with the node before: structure s has ``n_structure_rows[s]``
items of `row_edges`, the number of edges of each row, and as many `edge_variables` and `edge_values` as their sum.

Beside merged decisions lies an index: the names of their files of nodes, in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from bife_core.base.errors import DecisionsError
from bife_core.measure.decisions.recorded import Decisions, read_arrays, write_arrays
from bife_core.solver.scip.node import Node

_PER_NODE: Final = ("candidates", "variables", "rows")
_PER_STRUCTURE: Final = ("row_edges", "edge_variables", "edge_values")


def sharing(node: Node, before: Node | None) -> Node:
    """Return the node with the edges of the one before it, if they are the same."""
    names = ("edge_starts", "edge_variables", "edge_values")
    if before is None or not all(np.array_equal(getattr(node, key), getattr(before, key)) for key in names):
        return node
    return replace(node, **{name: getattr(before, name) for name in names})


def save_nodes(path: Path, nodes: Sequence[Node]) -> None:
    """Write the nodes of decisions, in single precision, at once or not at all."""
    structures: list[Node] = []
    structure = []
    for node in nodes:
        if not structures or node.edge_values is not structures[-1].edge_values:
            structures.append(node)
        structure.append(len(structures) - 1)
    lists: dict[str, list[Any]] = {name: [getattr(node, name) for node in nodes] for name in _PER_NODE}
    lists["row_edges"] = [np.diff(node.edge_starts) for node in structures]
    lists |= {name: [getattr(node, name) for node in structures] for name in _PER_STRUCTURE[1:]}
    arrays: dict[str, Any] = {f"n_{name}": np.array([*map(len, lists[name])]) for name in _PER_NODE}
    arrays["n_structure_rows"] = np.array([*map(len, lists["row_edges"])])
    for name, parts in lists.items():
        joined = np.concatenate(parts)
        arrays[name] = joined.astype(np.float32 if joined.dtype.kind == "f" else np.int32)
    arrays |= {name: np.array([getattr(node, name) for node in nodes]) for name in ("first", "depth")}
    write_arrays(path, arrays | {"structure": np.array(structure)})


def load_nodes(path: Path, decisions: Decisions) -> Iterator[Node]:
    """Yield the nodes that `save_nodes` wrote, with the candidates' features of the `decisions` beside them."""
    arrays = read_arrays(path)

    def split(name: str, counts: Any) -> list[Any]:
        return np.split(arrays[name], np.cumsum(counts)[:-1])

    row_edges = split("row_edges", arrays["n_structure_rows"])
    starts = [np.concatenate([[0], np.cumsum(counts)]) for counts in row_edges]
    n_edges = [ends[-1] for ends in starts]
    edges = {name: split(name, n_edges) for name in _PER_STRUCTURE[1:]}
    per_node = {name: split(name, arrays[f"n_{name}"]) for name in _PER_NODE}
    for t in range(min(len(decisions), len(arrays["structure"]))):
        s = arrays["structure"][t]
        yield Node(
            features=decisions.columns[:, decisions.offsets[t] : decisions.offsets[t + 1]].T,
            **{name: parts[t] for name, parts in per_node.items()},
            edge_starts=starts[s],
            **{name: parts[s] for name, parts in edges.items()},
            first=bool(arrays["first"][t]),
            depth=int(arrays["depth"][t]),
        )


def index_beside(merged: Path) -> Path:
    """Return the path of the index of merged decisions: which files hold their nodes."""
    return merged.with_suffix(".nodes.json")


def has_nodes(merged: Path | None) -> bool:
    """Whether nodes were recorded with decisions."""
    return merged is not None and index_beside(merged).is_file()


def nodes_of(merged: Path) -> Iterator[Node]:
    """Yield the nodes of merged decisions; a `DecisionsError` says that there are none."""
    left = len(Decisions.load(merged))
    if not has_nodes(merged):
        raise DecisionsError(
            f"{merged.name} was recorded without nodes, which the search or method reads; collect the decisions again "
            "with collection.nodes=true."
        )
    for name in json.loads(index_beside(merged).read_text()):
        path = merged.parent / name
        decisions = Decisions.load(path.with_suffix("").with_suffix(".npz"))[:left]
        yield from load_nodes(path, decisions)
        left -= len(decisions)
