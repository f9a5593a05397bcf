from __future__ import annotations

import numpy as np
import pytest
from numpy.random import RandomState

from bife_core.benchmarks.combinatorial_auction import combinatorial_auction


def test_learn2branch_stream_gives_its_first_instance():
    rng = RandomState(0)
    model = combinatorial_auction(rng, items=100, bids=500)
    assert model.objective[:3] == pytest.approx([355.84281127, 474.00420539, 362.69022523], abs=1e-7)
    assert model.objective.sum() == pytest.approx(170_374.874231, abs=1e-6)
    assert model.rows.shape == (189, 500)
    assert model.rows.nnz == 2_988
    assert rng.rand() == 0.881717612312165


def test_bids_are_positive_and_every_row_has_one():
    model = combinatorial_auction(RandomState(3), items=30, bids=100)
    assert model.maximise
    assert len(model.objective) == 100
    assert model.objective.min() > 0
    assert np.diff(model.rows.indptr).min() >= 1
    assert np.diff(model.rows.tocsc().indptr).min() >= 1


def test_the_last_bidder_stops_at_the_number_of_bids():
    for bids in range(1, 12):
        assert len(combinatorial_auction(RandomState(5), items=8, bids=bids).objective) == bids


def test_two_items_are_enough():
    assert combinatorial_auction(RandomState(0), items=2, bids=6).rows.shape[1] == 6


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"items": 1, "bids": 5}, "two items"),
        ({"items": 5, "bids": 0}, "one bid"),
    ],
)
def test_auctions_that_cannot_be_held_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        combinatorial_auction(RandomState(0), **arguments)
