import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bife_core.instances.milp import Milp, mps_text
from tests.support.read_back import assert_same, read_by_scip


def read_back(text, directory):
    path = directory / "model.mps"
    path.write_text(text)
    return read_by_scip(path)


def test_binary_columns_keep_their_order(tmp_path):
    names, growing = [f"x{j}" for j in range(9)], Milp("n")
    growing.row("r", growing.columns(names, 0, 1, cost=1, integer=True), np.ones(9), low=1)
    model = read_back(mps_text(growing), tmp_path)
    assert [v.name for v in model.getVars()] == names
    assert {v.vtype() for v in model.getVars()} == {"BINARY"}


def test_a_row_without_a_side_is_refused():
    growing = Milp("n")
    growing.row("r", growing.columns(["x"], 0, 1))
    with pytest.raises(ValueError, match="row r "):
        mps_text(growing)


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
    lower = np.where(vector(n, st.booleans()), bounds[:, 0], -np.inf)
    upper = np.where(vector(n, st.booleans()), bounds[:, 1], np.inf)
    costs = vector(n, st.one_of(st.just(0.0), NUMBERS))
    growing = Milp("drawn", maximise=draw(st.booleans()))
    for j in range(n):
        growing.columns([f"x{j}"], lower[j], upper[j], cost=costs[j], integer=bool(integer[j]))
    for i, row in enumerate(entries.reshape(m, n)):
        growing.row(f"c{i}", range(n), row, low=row_lower[i], high=row_upper[i])
    return growing


@settings(max_examples=30, deadline=None)
@given(data=models())
def test_any_model_survives_the_round_trip(tmp_path_factory, data):
    assert_same(read_back(mps_text(data), tmp_path_factory.getbasetemp()), data)
