from __future__ import annotations

import numpy as np
import pytest
from numpy.random import RandomState

from bife_core.benchmarks.facility_location import facility_location


def test_learn2branch_stream_gives_its_first_instance():
    rng = RandomState(0)
    model = facility_location(rng, customers=100, facilities=100)
    transport, opening = model.objective[:10_000], model.objective[10_000:]
    assert transport[:3] == pytest.approx([19.7634996, 10.5684277, 23.0871750], abs=1e-6)
    assert transport.sum() == pytest.approx(1_017_596.67968, abs=1e-5)
    assert opening[:5].tolist() == [843, 1233, 1004, 508, 1252]
    assert opening.sum() == 95_939
    total = model.rows[[200]]
    assert (-total.data[:5]).tolist() == [64, 158, 105, 25, 147]
    assert -total.data.sum() == 9_710
    assert model.row_upper[200] == -1_952
    assert model.rows.shape == (10_201, 10_100)
    assert model.integer.sum() == 100
    assert rng.rand() == 0.3162199863081955


def test_rows_say_what_their_names_say():
    model = facility_location(RandomState(4), customers=3, facilities=2)
    rows = dict(zip(model.row_names, model.rows.toarray(), strict=True))
    upper = dict(zip(model.row_names, model.row_upper, strict=True))
    columns = {name: j for j, name in enumerate(model.column_names)}

    demand = rows["demand_2"]
    assert demand[columns["x_2_1"]] == demand[columns["x_2_2"]] == -1
    assert np.count_nonzero(demand) == 2
    assert upper["demand_2"] == -1

    capacity = rows["capacity_1"]
    assert -capacity[columns["y_1"]] == -rows["total_capacity"][columns["y_1"]] > 0
    demands = [capacity[columns[f"x_{i}_1"]] for i in (1, 2, 3)]
    assert demands == [rows["capacity_2"][columns[f"x_{i}_2"]] for i in (1, 2, 3)]
    assert upper["total_capacity"] == -sum(demands)

    link = rows["link_3_2"]
    assert (link[columns["x_3_2"]], link[columns["y_2"]]) == (1, -1)
    assert np.count_nonzero(link) == 2
    assert upper["link_3_2"] == upper["capacity_1"] == 0


def test_leaving_out_the_links_changes_nothing_else():
    full, weak = (
        facility_location(RandomState(4), customers=5, facilities=4, linked=linked)
        for linked in (True, False)
    )
    n = len(weak.row_names)
    assert n == 5 + 4 + 1
    assert full.row_names[:n] == weak.row_names
    assert (full.rows[:n] != weak.rows).nnz == 0
    assert full.objective.tolist() == weak.objective.tolist()
