from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.random import RandomState

from bife_core.benchmarks.independent_set import attachment_graph, clique_partition, independent_set


def test_learn2branch_stream_gives_its_first_graph():
    rng = RandomState(0)
    edges, degrees = attachment_graph(rng, 500, 4)
    assert len(edges) == 1_984
    assert sorted(degrees.tolist(), reverse=True)[:5] == [66, 56, 55, 54, 53]
    assert degrees.argmax() == 8
    assert (np.arange(500) * degrees).sum() == 675_206
    assert rng.rand() == 0.06188916884289575


def test_clique_counts_are_those_of_learn2branch_up_to_ties_of_degree():
    edges, degrees = attachment_graph(RandomState(0), 500, 4)
    assert len(clique_partition(edges, degrees)) == pytest.approx(307, abs=5)
    sizes = np.bincount(np.diff(independent_set(RandomState(0), nodes=500).rows.indptr), minlength=5)
    assert sizes[:2].tolist() == [0, 0]
    assert sizes[2:5].tolist() == pytest.approx([1930, 16, 1], abs=8)


@pytest.mark.parametrize("seed", range(4))
def test_cliques_partition_the_nodes_and_rows_cover_the_edges(seed):
    edges, degrees = attachment_graph(RandomState(seed), 60, 5)
    known = set(edges)
    cliques = clique_partition(edges, degrees)
    assert sorted(node for clique in cliques for node in clique) == list(range(60))
    assert all(pair in known for clique in cliques for pair in combinations(clique, 2))
    assert max(len(clique) for clique in cliques) > 2

    rows = independent_set(RandomState(seed), nodes=60, affinity=5).rows
    members = [rows.indices[a:b].tolist() for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    assert {pair for row in members for pair in combinations(row, 2)} == known
    assert sum(len(row) * (len(row) - 1) // 2 for row in members) == len(known)


def test_every_new_node_brings_affinity_edges():
    edges, degrees = attachment_graph(RandomState(2), 30, 3)
    assert len(edges) == len(set(edges)) == 3 * 27
    assert np.bincount(np.ravel(edges)).tolist() == degrees.tolist()
    assert np.bincount([new for _, new in edges], minlength=30)[3:].tolist() == [3] * 27


@pytest.mark.parametrize(("nodes", "affinity"), [(5, 0), (5, 5), (1, 1)])
def test_affinities_that_cannot_be_met_are_refused(nodes, affinity):
    with pytest.raises(ValueError, match="affinity"):
        independent_set(RandomState(0), nodes=nodes, affinity=affinity)


def test_the_smallest_graph_is_one_edge():
    model = independent_set(RandomState(0), nodes=2, affinity=1)
    assert model.rows.toarray().tolist() == [[1, 1]]
