"""Collecting decisions: enough of them, the same ones every time, none paid for twice."""

import gc

import numpy as np
import pyscipopt
import pytest

from bife_core.base.errors import DecisionsError
from bife_core.instances.base import Instance
from bife_core.measure.decisions.collection import collect_decisions
from bife_core.measure.decisions.expert import record_decisions
from bife_core.measure.decisions.nodes import load_nodes, nodes_of
from bife_core.measure.decisions.recorded import Decisions, concatenate
from bife_core.run.config import CollectionConfig
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.solve import SolveSettings
from bife_core.workers import InProcess
from tests.support import awkward

CONFIG = CollectionConfig(decisions=3, decisions_per_instance=2, time_limit_s=60)


@pytest.fixture(scope="module")
def here():
    """For calls that need no wall: each folder that is written to costs a pool a worker."""
    return InProcess()


def test_collecting_is_exact_reproducible_and_resumable(knapsack_family, pool, here, tmp_path):
    seen = []
    summary = collect_decisions(
        knapsack_family, CONFIG, tmp_path / "a", pool, lambda *step: seen.append(step)
    )
    assert (summary.decisions, seen[-1]) == (3, (3, 3))
    decisions = Decisions.load(summary.path)
    assert decisions.digest == summary.digest
    assert set(decisions.instance) <= set(summary.instances)
    assert np.all(np.diff(decisions.offsets) >= 2)
    kinds = (summary.pruned_share, summary.tightenable_share, np.mean(decisions.genuine))
    assert sum(kinds) == pytest.approx(1)

    elsewhere = collect_decisions(knapsack_family, CONFIG, tmp_path / "b", here)
    assert elsewhere.digest == summary.digest

    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / "a" / "parts").iterdir()}
    summary.path.unlink()
    resumed = collect_decisions(knapsack_family, CONFIG, tmp_path / "a", here)
    assert resumed.digest == summary.digest
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "a" / "parts").iterdir()} == parts


def test_what_is_damaged_is_made_anew(knapsack_family, here, tmp_path):
    summary = collect_decisions(knapsack_family, CONFIG, tmp_path, here)
    end = min((tmp_path / "parts").glob("*.json"))
    for damaged, is_part in ((end, True), (end.with_suffix(".npz"), True), (summary.path, False)):
        damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
        notes = []
        again = collect_decisions(knapsack_family, CONFIG, tmp_path, here, note=notes.append)
        assert again.digest == summary.digest == Decisions.load(again.path).digest
        assert [note.endswith("its instance is solved once more.") for note in notes] == [True] * is_part
    end.unlink()
    assert collect_decisions(knapsack_family, CONFIG, tmp_path, here).digest == summary.digest
    assert end.is_file()


def test_the_expert_takes_the_largest_score(knapsacks):
    path = knapsacks[2].path
    recording = record_decisions(path, "x", settings=SolveSettings(seed=1), quota=None)
    assert (recording.status, recording.unscored) == ("optimal", 0)
    decisions = recording.decisions
    assert len(decisions) > 3
    assert np.all(np.isfinite(decisions.columns))
    assert min(decisions.scores.min(), decisions.gains.min()) >= 0
    assert np.all(decisions.gains <= np.repeat(decisions.room, np.diff(decisions.offsets)))
    product = decisions.gains.prod(axis=0)
    apart = decisions.scores > 1e-6 * decisions.scores.max()  # SCIP puts a floor under small gains
    np.testing.assert_allclose(decisions.scores[apart], product[apart], rtol=1e-3)
    assert all(kind.any() for kind in (decisions.pruned, decisions.tightenable, decisions.genuine))


def test_decisions_are_the_same_after_other_work_and_no_model_is_kept(knapsacks):
    def recorded(instance):
        return record_decisions(instance.path, "x", settings=SolveSettings(), quota=6).decisions.digest

    gc.collect()
    gc.disable()
    try:
        first = recorded(knapsacks[0])
        other = recorded(knapsacks[1])
        solve(knapsacks[0].path, "vanillafullstrong", node_limit=3)
        assert recorded(knapsacks[0]) == first != other
        models = [thing for thing in gc.get_objects() if type(thing) is pyscipopt.Model]
        assert [model for model in models if model.getNVars(False)] == []
    finally:
        gc.enable()


def test_nodes_are_recorded_beside_decisions_as_they_were(knapsack_family, here, tmp_path):
    config = CONFIG.model_copy(update={"nodes": True, "decisions": 4, "decisions_per_instance": 3})
    summary = collect_decisions(knapsack_family, config, tmp_path / "nodes", here)
    parts = [Decisions.load(path.with_suffix("").with_suffix(".npz")) for path in summary.nodes]
    nodes = [node for path, part in zip(summary.nodes, parts, strict=True) for node in load_nodes(path, part)]
    decisions = Decisions.load(summary.path)
    assert collect_decisions(knapsack_family, config, tmp_path / "nodes", here).nodes == summary.nodes
    merged = list(nodes_of(summary.path))
    assert len(merged) == summary.decisions < len(nodes)
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(merged, nodes, strict=False))
    parts[0].save(tmp_path / "alone.npz")
    with pytest.raises(DecisionsError, match=r"alone.npz was recorded without nodes.*collection.nodes=true"):
        next(nodes_of(tmp_path / "alone.npz"))
    assert concatenate(parts)[: len(decisions)].digest == decisions.digest
    assert [node.first for node in nodes] == [True, False, False] * len(parts)

    path = knapsack_family.instances("collection", 1)[0].path
    recording = record_decisions(path, "x", settings=SolveSettings(), quota=3, observe=True)
    kept = {id(node.edge_values) for node in recording.nodes}
    assert len(kept) == 2 < len(recording.nodes), "rows that are the same are kept once"
    for loaded, recorded in zip(nodes, recording.nodes, strict=False):
        for name, value in vars(recorded).items():
            np.testing.assert_allclose(getattr(loaded, name), value, rtol=1e-6, err_msg=name)
        assert len(loaded.edge_rows) == len(loaded.edge_values)


def test_a_share_of_the_nodes_is_recorded(knapsacks):
    path = knapsacks[2].path
    some, again, every = (
        record_decisions(path, "x", settings=SolveSettings(seed=1), quota=None, share=share).decisions
        for share in (0.3, 0.3, 1.0)
    )
    assert some.digest == again.digest
    assert 0 < len(some) < len(every)
    assert some.node[0] == every.node[0], "the first always"


def test_a_tree_too_small_for_its_quota_is_recorded_at_a_greater_share(knapsacks):
    path, every = knapsacks[2].path, {"instance": "x", "settings": SolveSettings(seed=1)}
    size = len(record_decisions(path, **every, quota=None).decisions)
    few = record_decisions(path, **every, quota=None, share=0.05).decisions
    assert len(few) < size // 2
    assert len(few) < len(record_decisions(path, **every, quota=size // 2, share=0.05).decisions) <= size // 2


class Wide(InProcess):
    """Seems to make many calls at once."""

    workers = 8


@pytest.mark.parametrize("quota", [1, 2])
def test_no_more_instances_are_solved_than_it_takes(knapsack_family, tmp_path, quota):
    config = CollectionConfig(decisions=3, decisions_per_instance=quota, time_limit_s=60)
    summary = collect_decisions(knapsack_family, config, tmp_path, Wide())
    assert summary.decisions == 3
    assert len(summary.instances) == len(list((tmp_path / "parts").glob("*.npz")))


class OneModel:
    """A benchmark of one model file that needs no branching."""

    name = "one"
    notes = ()

    def __init__(self, path):
        self.path = path

    def instances(self, split, count):
        return [Instance("trivial", self.path, "0" * 16)]


def test_models_without_a_decision_are_an_error_with_the_reason(here, tmp_path):
    path = tmp_path / "trivial.lp"
    path.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinary\n x y\nEnd\n")
    expected = "No strong-branching decision came from 1 collection instances.*1 optimal without a choice"
    for _ in range(2):  # the second time from disk
        with pytest.raises(DecisionsError, match=expected):
            collect_decisions(OneModel(path), CONFIG, tmp_path / "d", here)
    with pytest.raises(DecisionsError, match="missing"):
        collect_decisions(OneModel(tmp_path / "missing.lp"), CONFIG, tmp_path / "e", here)


@pytest.mark.parametrize("name", ["nonconvex", "ordered_sets", "indicators", "zero_rows_and_columns"])
def test_the_expert_meets_awkward_models(name, tmp_path):
    path = tmp_path / "model.cip"
    awkward.FEASIBLE[name]().writeProblem(str(path), verbose=False)
    params = {"presolving/maxrounds": 0, "heuristics/rounding/freq": -1}
    recording = record_decisions(path, "x", settings=SolveSettings(params=params), quota=5)
    assert recording.unscored == 0
    assert np.all(np.isfinite(recording.decisions.columns))
    assert np.all(recording.decisions.scores >= 0)


def test_no_lp_means_no_decision(tmp_path):
    path = tmp_path / "model.cip"
    awkward.knapsacks().writeProblem(str(path), verbose=False)
    settings = SolveSettings(params={"lp/solvefreq": -1})
    recording = record_decisions(path, "x", settings=settings, quota=None)
    assert (len(recording.decisions), recording.status, recording.unscored) == (0, "optimal", 0)


def test_decisions_are_recorded_with_the_start_that_rules_are_solved_with(knapsacks):
    def room(rest):
        return record_decisions(
            knapsacks[2].path, "x", settings=SolveSettings(), quota=1, rest=rest
        ).decisions.room

    before, after = room(None), room(Configuration(start="local_search"))
    assert after[0] < before[0], "with a better solution less is to be gained"
