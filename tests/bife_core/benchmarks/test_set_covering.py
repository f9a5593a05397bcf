from __future__ import annotations

import numpy as np
import pytest
from numpy.random import RandomState

from bife_core.benchmarks.set_covering import set_covering


def test_learn2branch_stream_gives_its_first_instance():
    rng = RandomState(0)
    model = set_covering(rng, rows=500, columns=1000)
    assert model.objective[:5].tolist() == [98, 50, 15, 69, 17]
    assert model.objective.sum() == 49_448
    assert np.diff(model.rows.indptr)[:5].tolist() == [51, 50, 53, 54, 65]
    assert model.rows.nnz == 25_000
    lengths = np.diff(model.rows.tocsc().indptr)
    assert (lengths.min(), lengths.max()) == (11, 40)
    assert model.rows.indices[:6].tolist() == [16, 27, 38, 55, 62, 64]
    assert rng.rand() == 0.9866932589893298


def test_each_row_is_covered_and_each_column_covers_two():
    model = set_covering(RandomState(1), rows=40, columns=30, density=0.1, max_cost=7)
    assert np.diff(model.rows.indptr).min() >= 1
    assert np.diff(model.rows.tocsc().indptr).min() >= 2
    assert set(model.rows.data) == {1.0}
    assert model.objective.min() >= 1
    assert model.objective.max() <= 7
    assert not model.maximise


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"rows": 10, "columns": 100, "density": 0.1}, "single row"),
        ({"rows": 100, "columns": 2, "density": 0.1}, "uncovered"),
        ({"rows": 2, "columns": 3, "density": 1.5}, "than the 2 rows"),
    ],
)
def test_densities_that_cannot_be_met_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        set_covering(RandomState(0), **arguments)
