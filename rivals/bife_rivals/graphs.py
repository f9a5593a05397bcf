"""Recorded nodes as training data: samples that are read when they are drawn, and batches of one shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from bife_core import Decisions
from bife_core.extend import ConfigError, Node, load_nodes

RANKS: Final = (1, 3, 5, 10)
"""Ranks k of which accuracy is measured."""

_STEP = 1.25
"""Shapes are padded to powers of this, so that few of them are compiled."""


class Sample(NamedTuple):
    """A node, the first one recorded of its problem, and which of its candidates strong branching scores highest.

    `best` marks all of them, `taken` is the position of the one branched on.
    """

    node: Node
    root: Node
    best: npt.NDArray[np.bool_]
    taken: int


def hits(scores: npt.NDArray[Any], best: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return for each of `RANKS` whether a best candidate is among as many of the highest scores."""
    order = np.argsort(-scores, kind="stable")
    return np.array([best[order[:rank]].any() for rank in RANKS])


def accuracies(right: npt.NDArray[np.int64], of: int) -> dict[str, float]:
    """Return the shares of counts of hits, by name."""
    return {f"accuracy_{rank}": int(count) / of for rank, count in zip(RANKS, right, strict=True)}


@lru_cache(maxsize=2048)
def _samples_of(nodes: Path) -> tuple[Sample, ...]:
    """Read the samples of one instance."""
    decisions = Decisions.load(nodes.with_suffix("").with_suffix(".npz"))
    best = np.split(decisions.best, decisions.offsets[1:-1])
    scores = np.split(decisions.scores, decisions.offsets[1:-1])
    loaded = list(load_nodes(nodes, decisions))
    roots = {len(node.variables): node for node in reversed(loaded)}  # a restart fixes some
    return tuple(
        Sample(node, roots[len(node.variables)], right, int(np.argmax(score)))
        for node, right, score in zip(loaded, best, scores, strict=True)
    )


@dataclass(frozen=True)
class Samples:
    """Samples of some instances by the files of their nodes (`CollectionSummary.nodes`), and where each one is."""

    files: tuple[Path, ...]
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, files: Sequence[Path], most: int) -> Samples:
        """Return the first samples, `most` of them."""
        places: list[tuple[int, int]] = []
        for number, file in enumerate(files):
            with np.load(file) as arrays:
                places += [(number, t) for t in range(len(arrays["structure"]))]
            if len(places) >= most:
                break
        return cls(tuple(files), tuple(places[:most]))

    @classmethod
    def split(cls, files: Sequence[Path], train: int, valid: int) -> tuple[Samples, Samples]:
        """Return samples to train with, and what is held back: the first ones, of other instances."""
        if len(files) < 2:
            raise ConfigError("Training needs decisions of two instances at least; one is held back.")
        held_back = cls.of(files[:-1], valid)
        return cls.of(files[1 + held_back.places[-1][0] :], train), held_back

    def __len__(self) -> int:
        return len(self.places)

    @property
    def record_s(self) -> int:
        """CPU seconds of recording their instances."""
        used = {self.files[number].with_suffix("").with_suffix(".json") for number, _ in self.places}
        return round(sum(float(json.loads(file.read_text())["cpu_s"]) for file in used))

    def __getitem__(self, position: int) -> Sample:
        number, t = self.places[position]
        return _samples_of(self.files[number])[t]


class Graph(NamedTuple):
    """Several bipartite graphs as one; what lies at and behind a count is padding, and edges there join padding.

    Arrays are those of `Node` in single precision. Only scores of candidates are wanted, so the edges of candidates
    stand once more by themselves: ``near_candidates`` says whose each is. ``graph`` says which graph each candidate
    is of, and ``taken`` which candidate each graph's expert branched on.
    """

    variables: Any
    rows: Any
    edge_rows: Any
    edge_variables: Any
    edge_values: Any
    candidates: Any
    near_rows: Any
    near_candidates: Any
    near_values: Any
    graph: Any
    taken: Any
    n_variables: Any
    n_rows: Any
    n_edges: Any
    n_candidates: Any
    n_near: Any
    n_graphs: Any


def room(count: int, step: float = _STEP) -> int:
    """Return the size something is padded to; it leaves room for one item of padding at least."""
    return int(np.ceil(step ** np.ceil(np.log(count + 1) / np.log(step))))


def joined(parts: Sequence[npt.NDArray[Any]], size: int, value: float = 0) -> npt.NDArray[Any]:
    """Return arrays one after the other, in single precision, with `size` items along the first axis."""
    array = np.full(
        (size, *parts[0].shape[1:]), value, np.float32 if parts[0].dtype.kind == "f" else np.int32
    )
    np.concatenate(parts, out=array[: sum(map(len, parts))], casting="same_kind")
    return array


def join(nodes: Sequence[Node], taken: Sequence[int], graphs: int, step: float = _STEP) -> Graph:
    """Return nodes as one graph that has room for `graphs`; candidates of a node are distinct."""
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    v = r = c = 0
    for number, (node, position) in enumerate(zip(nodes, taken, strict=True)):
        owner = np.full(len(node.variables), -1)
        owner[node.candidates] = np.arange(len(node.candidates))
        near = owner[node.edge_variables] >= 0
        edge_rows = node.edge_rows
        for name, array in (
            ("variables", node.variables),
            ("rows", node.rows),
            ("edge_rows", edge_rows + r),
            ("edge_variables", node.edge_variables + v),
            ("edge_values", node.edge_values),
            ("candidates", node.candidates + v),
            ("near_rows", edge_rows[near] + r),
            ("near_candidates", owner[node.edge_variables[near]] + c),
            ("near_values", node.edge_values[near]),
            ("graph", np.full(len(node.candidates), number)),
            ("taken", np.array([position + c])),
        ):
            parts.setdefault(name, []).append(array)
        v, r, c = v + len(node.variables), r + len(node.rows), c + len(node.candidates)
    counts = {"variables": v, "rows": r, "candidates": c, "graphs": len(nodes)}
    counts |= {"edges": sum(map(len, parts["edge_values"])), "near": sum(map(len, parts["near_values"]))}
    size = {name: room(count, step) for name, count in counts.items()} | {"graphs": graphs}
    # What each array has an item for, and what its padding holds.
    layout = {
        "variables": ("variables", 0),
        "rows": ("rows", 0),
        "edge_rows": ("edges", size["rows"] - 1),
        "edge_variables": ("edges", size["variables"] - 1),
        "edge_values": ("edges", 0),
        "candidates": ("candidates", size["variables"] - 1),
        "near_rows": ("near", size["rows"] - 1),
        "near_candidates": ("near", size["candidates"] - 1),
        "near_values": ("near", 0),
        "graph": ("candidates", graphs),
        "taken": ("graphs", 0),
    }
    return Graph(
        **{name: joined(parts[name], size[of], value) for name, (of, value) in layout.items()},
        **{f"n_{name}": np.int32(count) for name, count in counts.items()},
    )
