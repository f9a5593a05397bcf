from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from bife_core.benchmarks.milp import binary_program, unit_rows


@pytest.fixture
def pair():
    return binary_program(
        "pair", maximise=True, objective=np.ones(2), rows=csr_array(np.ones((1, 2))), row_upper=1
    )


def test_a_binary_program_has_binary_columns_and_uniform_sides(pair):
    assert pair.integer.all()
    assert pair.lower.tolist() == [0, 0]
    assert pair.upper.tolist() == [1, 1]
    assert pair.row_lower.tolist() == [-np.inf]
    assert pair.row_upper.tolist() == [1]
    assert pair.row_names == ["c1"]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("objective", np.ones(3)),
        ("column_names", ["x1"]),
        ("row_lower", np.zeros(2)),
    ],
)
def test_shapes_that_disagree_are_refused_by_name(pair, attribute, value):
    with pytest.raises(ValueError, match=attribute):
        replace(pair, **{attribute: value})


def test_unit_rows_put_ones_where_members_are():
    matrix = unit_rows([[2, 0], np.array([1])], columns=3)
    assert matrix.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
