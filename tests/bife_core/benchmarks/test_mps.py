from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array

from bife_core.benchmarks.milp import Assembly, MilpData, mps_text
from tests.support.read_back import assert_same, read_by_scip


def read_back(text, directory):
    path = directory / "model.mps"
    path.write_text(text)
    return read_by_scip(path)


def milp(**changes):
    values = {
        "name": "sample",
        "maximise": False,
        "objective": np.array([1 / 3, 0.0, -7.0]),
        "lower": np.array([0.0, -np.inf, -2.0]),
        "upper": np.array([1.0, np.inf, 12.5]),
        "integer": np.array([True, False, True]),
        "rows": csr_array(np.array([[0.1, 2.0, 0.0], [0.0, -1e-3, 3.0]])),
        "row_lower": np.array([-np.inf, 4.0]),
        "row_upper": np.array([1e9 / 7, 4.0]),
        "column_names": ["x", "free", "n"],
        "row_names": ["r", "s"],
    }
    return MilpData(**{**values, **changes})


def test_binary_columns_keep_their_order(tmp_path):
    names, growing = [f"x{j}" for j in range(9)], Assembly()
    growing.row("r", growing.columns(names, 0, 1, cost=1, integer=True), np.ones(9), low=1)
    model = read_back(mps_text(growing.model("n")), tmp_path)
    assert [v.name for v in model.getVars()] == names
    assert {v.vtype() for v in model.getVars()} == {"BINARY"}


def test_a_row_without_a_side_is_refused():
    with pytest.raises(ValueError, match="row r "):
        mps_text(milp(row_upper=np.array([np.inf, 4.0])))


NUMBERS = st.floats(1e-5, 1e8).flatmap(lambda x: st.sampled_from([x, -x, float(round(x))]))


@st.composite
def models(draw):
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    vector = lambda size, of: np.array(draw(st.lists(of, min_size=size, max_size=size)))  # noqa: E731
    sides = np.sort(vector(m * 2, NUMBERS).reshape(m, 2), axis=1)
    kinds = vector(m, st.sampled_from(["below", "above", "equal", "range"]))
    row_lower = np.where(kinds == "below", -np.inf, sides[:, 0])
    row_upper = np.where(kinds == "above", np.inf, np.where(kinds == "equal", row_lower, sides[:, 1]))
    bounds = np.sort(vector(n * 2, NUMBERS).reshape(n, 2), axis=1)
    integer = vector(n, st.booleans())
    bounds[integer] = np.round(bounds[integer])
    entries = vector(m * n, st.one_of(st.just(0.0), NUMBERS))
    return MilpData(
        name="drawn",
        maximise=draw(st.booleans()),
        objective=vector(n, st.one_of(st.just(0.0), NUMBERS)),
        lower=np.where(vector(n, st.booleans()), bounds[:, 0], -np.inf),
        upper=np.where(vector(n, st.booleans()), bounds[:, 1], np.inf),
        integer=integer,
        rows=csr_array(entries.reshape(m, n)),
        row_lower=row_lower,
        row_upper=row_upper,
        column_names=[f"x{j}" for j in range(n)],
        row_names=[f"c{i}" for i in range(m)],
    )


@settings(max_examples=30, deadline=None)
@given(data=models())
def test_any_model_survives_the_round_trip(tmp_path_factory, data):
    assert_same(read_back(mps_text(data), tmp_path_factory.getbasetemp()), data)
