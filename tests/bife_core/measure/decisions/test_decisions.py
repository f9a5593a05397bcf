"""Recorded decisions: the file keeps everything, and says so when it does not."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bife_core.base.errors import DecisionsError
from bife_core.language.components import BRANCHING
from bife_core.measure.decisions.recorded import Decisions, concatenate, numbers_in, read_arrays
from tests.support.recorded import decisions_of


def made_up(sizes, seed=0, instance="a"):
    rng = np.random.default_rng(seed)
    rows, n = sum(sizes), len(sizes)
    room = rng.exponential(size=n)
    return decisions_of(
        sizes,
        rng.exponential(size=rows).round(1),
        columns=rng.normal(size=(BRANCHING.n_features, rows)),
        gains=np.minimum(rng.exponential(size=(2, rows)), np.repeat(room, sizes)),
        probindex=rng.integers(0, 1000, rows).astype(np.int32),
        node=np.arange(n),
        depth=rng.integers(0, 20, n),
        room=room,
        instance=instance,
    )


def test_a_file_is_read_again_where_another_thread_disturbs_the_parser_of_its_head(tmp_path, monkeypatch):
    (original := made_up([3, 1, 5])).save(tmp_path / "d.npz")
    faults, load = [SystemError("AST constructor recursion depth mismatch")] * 2, np.load

    def disturbed(stream):
        if faults:
            raise faults.pop()
        return load(stream)

    monkeypatch.setattr(np, "load", disturbed)
    assert numbers_in(tmp_path / "d.npz") == original.columns.size
    assert not faults


def test_a_saved_file_gives_everything_back(tmp_path):
    original = made_up([3, 1, 5])
    original.save(tmp_path / "new" / "d.npz")
    loaded = Decisions.load(tmp_path / "new" / "d.npz")
    for name in ("columns", "scores", "gains", "offsets", "probindex", "node", "depth", "room"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(original, name))
    assert loaded.instance == original.instance
    assert loaded.digest == original.digest
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["d.npz"]


def test_a_decision_knows_what_could_be_done_instead_of_branching():
    gains = np.array([[1, 5, 1, 5, 1, 5, 1, 4, 0], [5, 1, 1, 5, 1, 1, 4, 1, 0]], dtype=float)  # down, up
    decisions = decisions_of([2, 2, 2, 2, 1], np.zeros(9), gains=gains, room=[5.0, 5, 5, 5, 0])
    assert np.flatnonzero(decisions.pruned).tolist() == [1, 4], "also where the bound is at the cutoff"
    assert np.flatnonzero(decisions.tightenable).tolist() == [0, 2]
    assert np.flatnonzero(decisions.genuine).tolist() == [3]


def test_best_keeps_ties_and_looks_at_each_decision_alone():
    decisions = made_up([3, 2, 1])
    decisions.scores[:] = [5, 5 + 1e-12, 1, 0, 0, -3]
    assert decisions.best.tolist() == [True, True, False, True, True, True]
    assert decisions.tie_share == pytest.approx(2 / 3)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_taking_and_joining_are_inverse(sizes, count):
    count = min(count, len(sizes))
    whole = made_up(sizes)
    head = whole[:count]
    assert len(head) == count
    assert head.n_candidates == sum(sizes[:count])
    assert concatenate([whole]).digest == whole.digest
    joined = concatenate([head, whole])
    assert len(joined) == count + len(sizes)
    np.testing.assert_array_equal(joined.matrix[: head.n_candidates], head.matrix)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "no decisions file"),
        ("text", "not a readable file of decisions"),
        ("other", "schema none"),
        ("earlier", r"schema 1, this version reads 2; collect the decisions again\.$"),
        ("changed", "does not match its digest"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path, name, message):
    made_up([2]).save(tmp_path / "good.npz")
    content = read_arrays(tmp_path / "good.npz")
    (tmp_path / "text.npz").write_text("no table")
    np.savez(tmp_path / "other.npz", a=np.ones(1))
    np.savez(tmp_path / "earlier.npz", **content | {"schema": np.array("1")})
    np.savez(tmp_path / "changed.npz", **content | {"scores": np.full(2, 9.0)})
    with pytest.raises(DecisionsError, match=message):
        Decisions.load(tmp_path / f"{name}.npz")
