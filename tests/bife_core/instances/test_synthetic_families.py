"""The generators of learn2branch, draw by draw, and what the other synthetic families promise."""

from itertools import combinations

import numpy as np
import pytest
from numpy.random import RandomState

from bife_core.instances.families.combinatorial_auction import combinatorial_auction
from bife_core.instances.families.facility_location import facility_location
from bife_core.instances.families.generalised_assignment import generalised_assignment
from bife_core.instances.families.independent_set import attachment_graph, clique_partition, independent_set
from bife_core.instances.families.lot_sizing import lot_sizing
from bife_core.instances.families.network_design import network_design
from bife_core.instances.families.set_covering import set_covering
from tests.support.read_back import arrays


def test_the_first_set_covering_instance_is_that_of_learn2branch():
    rng = RandomState(0)
    model = arrays(set_covering(rng, rows=500, columns=1000))
    assert model.objective[:5].tolist() == [98, 50, 15, 69, 17]
    assert model.objective.sum() == 49_448
    assert np.diff(model.rows.indptr)[:5].tolist() == [51, 50, 53, 54, 65]
    assert model.rows.nnz == 25_000
    lengths = np.diff(model.rows.tocsc().indptr)
    assert (lengths.min(), lengths.max()) == (11, 40)
    assert rng.rand() == 0.9866932589893298


def test_each_row_is_covered_and_each_column_covers_two():
    model = arrays(set_covering(RandomState(1), rows=40, columns=30, density=0.1, max_cost=7))
    assert np.diff(model.rows.indptr).min() >= 1
    assert np.diff(model.rows.tocsc().indptr).min() >= 2
    assert 1 <= model.objective.min() <= model.objective.max() <= 7
    assert not model.maximise


def test_the_first_auction_is_that_of_learn2branch():
    rng = RandomState(0)
    model = arrays(combinatorial_auction(rng, items=100, bids=500))
    assert model.objective[:3] == pytest.approx([355.84281127, 474.00420539, 362.69022523], abs=1e-7)
    assert model.objective.sum() == pytest.approx(170_374.874231, abs=1e-6)
    assert (model.rows.shape, model.rows.nnz) == ((189, 500), 2_988)
    assert rng.rand() == 0.881717612312165


@pytest.mark.parametrize(("items", "bids"), [(30, 100), (2, 6), (8, 1), (8, 5), (8, 11)])
def test_bids_are_as_many_as_asked_for_positive_and_each_on_an_item(items, bids):
    model = arrays(combinatorial_auction(RandomState(3), items=items, bids=bids))
    assert model.maximise
    assert len(model.objective) == bids
    assert model.objective.min() > 0
    assert np.diff(model.rows.indptr).min() >= 1
    assert np.diff(model.rows.tocsc().indptr).min() >= 1


def test_the_first_graph_is_that_of_learn2branch():
    rng = RandomState(0)
    edges, degrees = attachment_graph(rng, 500, 4)
    assert len(edges) == 1_984
    assert sorted(degrees.tolist(), reverse=True)[:5] == [66, 56, 55, 54, 53]
    assert (np.arange(500) * degrees).sum() == 675_206
    assert rng.rand() == 0.06188916884289575
    # Up to ties of degree, which learn2branch breaks at random.
    assert len(clique_partition(edges, degrees)) == pytest.approx(307, abs=5)
    sizes = np.bincount(np.diff(arrays(independent_set(RandomState(0), nodes=500)).rows.indptr), minlength=5)
    assert sizes[2:5].tolist() == pytest.approx([1930, 16, 1], abs=8)


@pytest.mark.parametrize("seed", range(2))
def test_cliques_partition_the_nodes_and_rows_cover_the_edges(seed):
    edges, degrees = attachment_graph(RandomState(seed), 60, 5)
    pairs = set(edges)
    assert len(edges) == len(pairs) == 5 * 55
    assert np.bincount(np.ravel(edges)).tolist() == degrees.tolist()
    cliques = clique_partition(edges, degrees)
    assert sorted(node for clique in cliques for node in clique) == list(range(60))
    assert all(pair in pairs for clique in cliques for pair in combinations(clique, 2))
    rows = arrays(independent_set(RandomState(seed), nodes=60, affinity=5)).rows
    members = [rows.indices[a:b].tolist() for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    assert {pair for row in members for pair in combinations(row, 2)} == pairs
    assert sum(len(row) * (len(row) - 1) // 2 for row in members) == len(pairs)


def test_the_first_facility_location_instance_is_that_of_learn2branch():
    rng = RandomState(0)
    model = arrays(facility_location(rng, customers=100, facilities=100))
    transport, opening = model.objective[:10_000], model.objective[10_000:]
    assert transport[:3] == pytest.approx([19.7634996, 10.5684277, 23.0871750], abs=1e-6)
    assert transport.sum() == pytest.approx(1_017_596.67968, abs=1e-5)
    assert opening[:5].tolist() == [843, 1233, 1004, 508, 1252]
    total = model.rows[[200]]
    assert (-total.data[:5]).tolist() == [64, 158, 105, 25, 147]
    assert (model.row_upper[200], model.integer.sum()) == (-1_952, 100)
    assert rng.rand() == 0.3162199863081955


def test_rows_of_facility_location_say_what_their_names_say():
    model = arrays(facility_location(RandomState(4), customers=3, facilities=2))
    rows = dict(zip(model.row_names, model.rows.toarray(), strict=True))
    upper = dict(zip(model.row_names, model.row_upper, strict=True))
    columns = {name: j for j, name in enumerate(model.column_names)}
    demand, capacity, link = rows["demand_2"], rows["capacity_1"], rows["link_3_2"]
    assert demand[columns["x_2_1"]] == demand[columns["x_2_2"]] == upper["demand_2"] == -1
    assert -capacity[columns["y_1"]] == -rows["total_capacity"][columns["y_1"]] > 0
    demands = [capacity[columns[f"x_{i}_1"]] for i in (1, 2, 3)]
    assert upper["total_capacity"] == -sum(demands)
    assert (link[columns["x_3_2"]], link[columns["y_2"]], upper["link_3_2"]) == (1, -1, 0)
    weak = arrays(facility_location(RandomState(4), customers=3, facilities=2, linked=False))
    assert [name for name in model.row_names if not name.startswith("link")] == [*weak.row_names]


def test_assignments_are_of_type_d():
    model = arrays(generalised_assignment(RandomState(5), agents=4, jobs=30))
    rows, costs = model.rows.toarray(), model.objective.reshape(4, 30)
    jobs, agents = rows[:30], rows[30:]
    assert jobs.sum(axis=0).tolist() == [1] * 120
    assert (model.row_lower[:30] == 1).all()
    assert (model.row_upper[:30] == 1).all()
    loads = agents.sum(axis=0).reshape(4, 30)
    assert (loads.min(), loads.max() <= 100) == (1, True)
    assert np.abs(costs + loads - 111).max() == 10
    for i, row in enumerate(agents):
        assert row.reshape(4, 30)[i].tolist() == loads[i].tolist()
    assert model.row_upper[30:].tolist() == np.floor(0.8 * loads.sum(axis=1) / 4).tolist()
    assert model.integer.all()


def test_rows_of_lot_sizing_say_what_their_names_say():
    model = arrays(lot_sizing(RandomState(5), items=2, periods=3))
    rows = dict(zip(model.row_names, model.rows.toarray(), strict=True))
    upper = dict(zip(model.row_names, model.row_upper, strict=True))
    columns = {name: j for j, name in enumerate(model.column_names)}
    costs = dict(zip(model.column_names, model.objective, strict=True))
    balance = {name: rows["balance_2_2"][j] for name, j in columns.items() if rows["balance_2_2"][j]}
    assert balance == {"stock_2_1": 1, "make_2_2": 1, "stock_2_2": -1}
    left = -rows["produce_2_1"][columns["setup_2_1"]]
    assert left == sum(upper[f"balance_2_{t}"] for t in (1, 2, 3)) > 0
    capacity = rows["capacity_3"]
    assert (capacity[columns["make_1_3"]], capacity[columns["overtime_3"]]) == (1, -1)
    assert 10 <= capacity[columns["setup_1_3"]] <= 50
    assert (costs["overtime_1"], costs["make_1_1"]) == (50, 0)
    assert costs["setup_1_1"] == costs["setup_1_3"] >= 200


def test_rows_of_network_design_say_what_their_names_say_and_a_cycle_can_carry_all():
    nodes, arcs, commodities = 5, 9, 3
    model = arrays(network_design(RandomState(6), nodes=nodes, arcs=arcs, commodities=commodities))
    rows = dict(zip(model.row_names, model.rows.toarray(), strict=True))
    right = dict(zip(model.row_names, model.row_upper, strict=True))
    columns = {name: j for j, name in enumerate(model.column_names)}
    assert model.integer.tolist() == [name.startswith("y") for name in columns]
    demands = [rows["capacity_1"][columns[f"x_1_{k}"]] for k in (1, 2, 3)]
    capacities = [-rows[f"capacity_{a}"][columns[f"y_{a}"]] for a in range(1, arcs + 1)]
    assert capacities[:nodes] == [sum(demands)] * nodes
    assert max(demands) <= min(capacities[nodes:])
    assert (rows["link_4_2"][columns["x_4_2"]], rows["link_4_2"][columns["y_4"]]) == (1, -1)
    ends = set[tuple[int, int]]()
    for a in range(1, arcs + 1):
        at = [rows[f"flow_{i}_2"][columns[f"x_{a}_2"]] for i in range(1, nodes + 1)]
        assert sorted(at) == [-1] + [0] * (nodes - 2) + [1]
        ends.add((at.index(1), at.index(-1)))
    assert len(ends) == arcs, "no two arcs are parallel"
    for k in range(1, commodities + 1):
        assert sorted(right[f"flow_{i}_{k}"] for i in range(1, nodes + 1)) == [-1, 0, 0, 0, 1]
    weak = arrays(network_design(RandomState(6), nodes=5, arcs=9, commodities=3, linked=False))
    assert [name for name in model.row_names if not name.startswith("link")] == [*weak.row_names]
