"""Maximum independent set (MIS) on preferential attachment graphs, in the clique form of Bergman et al."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp

Edge = tuple[int, int]


def independent_set(rng: RandomState, *, nodes: int, affinity: int = 4) -> Milp:
    """Draw a graph and state its maximum independent set: as many nodes as possible, no two of them adjacent.

    As in learn2branch, every new node brings `affinity` edges (Barabasi and Albert, 1999). Each clique of a greedy
    partition is a row, and so is every edge outside these cliques.
    """
    edges, degrees = attachment_graph(rng, nodes, affinity)
    inequalities = set(edges)
    rows: list[tuple[int, ...]] = []
    for clique in clique_partition(edges, degrees):
        if len(clique) > 1:
            rows.append(clique)
            inequalities.difference_update(combinations(clique, 2))
    growing = Milp(f"independent_set-{nodes}-{affinity}", maximise=True)
    growing.columns([f"x{j}" for j in range(1, nodes + 1)], 0, 1, cost=1, integer=True)
    growing.sums(sorted([*rows, *inequalities]), high=1)
    return growing


def attachment_graph(rng: RandomState, nodes: int, affinity: int) -> tuple[list[Edge], NDArray[np.int64]]:
    """Draw a preferential attachment graph; return its edges, the smaller node first, and the degree of every node.

    Node `affinity` is linked to all before it; each later node to `affinity` distinct earlier ones, drawn
    with probability proportional to their degrees.
    """
    edges: list[Edge] = []
    degrees = np.zeros(nodes, dtype=np.int64)
    for new in range(affinity, nodes):
        if new == affinity:
            chosen = np.arange(new)
        else:
            probability = degrees[:new] / (2 * len(edges))
            chosen = rng.choice(new, size=affinity, replace=False, p=probability)
        edges += [(node, new) for node in chosen.tolist()]
        degrees[chosen] += 1
        degrees[new] += affinity
    return edges, degrees


def clique_partition(edges: list[Edge], degrees: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Partition nodes into sorted cliques, some of one, greedily by degree, then number: alike on every platform."""
    neighbours: list[set[int]] = [set() for _ in degrees]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    order = np.argsort(-degrees, kind="stable").tolist()
    rank = {node: position for position, node in enumerate(order)}
    free = set(order)
    cliques = []
    for centre in order:
        if centre not in free:
            continue
        clique = [centre]
        for node in sorted(neighbours[centre] & free, key=rank.__getitem__):
            if all(node in neighbours[member] for member in clique):
                clique.append(node)
        free.difference_update(clique)
        cliques.append(tuple(sorted(clique)))
    return cliques


FAMILY = Family(
    name="independent_set",
    label="MIS",
    generate=independent_set,
    sizes={
        "tiny": {"nodes": 110, "affinity": 8},
        "test": {"nodes": 500, "affinity": 4},
        "transfer": {"nodes": 1000, "affinity": 4},
    },
)
