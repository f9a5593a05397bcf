"""tMDP: what branchings led to, the step they make, episodes in SCIP, and a training that is killed."""

import pkgutil
import subprocess
import sys
import tomllib
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bife_core import InProcess, Store, WorkerPool, load_method, solve
from bife_core.measure.solves import SolveJob
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings
from bife_rivals.tmdp_policy import SOLVE_SAMPLING, Episode, SamplingPolicy, returns
from bife_rivals.weights import GNN, NORMS, as_text

PAPER = SolverConfig.model_validate("paper")


@pytest.fixture(scope="module")
def instances(auctions):
    return auctions.instances("collection", 2)


@pytest.fixture
def tmdp():
    pytest.importorskip("jax", reason="training needs the extra `learned` of bife-rivals")
    from bife_rivals import tmdp

    return tmdp


def some_weights():
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in GNN.items()}
    return arrays | {name: np.full(shape, 0.1, np.float32) for name, shape in NORMS.items()}


def played(path, file, kind=SamplingPolicy, **fields):
    policy = kind(weights=as_text(some_weights()), file=file, **{"seed": (0,)} | fields)
    return solve(path, policy, solver=PAPER), Episode.load(file)


def test_no_text_names_a_method_that_writes_a_file():
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
    offered = project["entry-points"]["bife.methods"]
    kinds = [pkgutil.resolve_name(where) for where in offered.values()]
    assert SamplingPolicy not in kinds
    assert not [
        kind for kind in kinds for field in kind.model_fields.values() if "Path" in str(field.annotation)
    ]


def test_what_workers_are_sent_is_a_solve_under_the_policy(instances, tmp_path):
    file = tmp_path / "episode"
    policy = SamplingPolicy(weights=as_text(some_weights()), file=file, seed=(0,))
    job = SolveJob(instance=instances[0], method=policy, settings=SolveSettings(solver=PAPER))
    limits = {"limit_s": 120.0, "reads": [instances[0].path], "writes": [tmp_path]}
    with WorkerPool(1) as pool:
        pool.submit(SOLVE_SAMPLING, job.model_dump(mode="json"), **limits).result()
    assert len(Episode.load(file).parents) > 0


def test_credit_on_a_tree():
    # The root, its child, that one's child, and last the root's other child.
    parents, before = np.array([-1, 0, 1, 0]), np.array([1, 2, 3, 6])
    assert returns(parents, before, 9, "tree").tolist() == [-9, -5, -3, -3]
    assert returns(parents, before, 9, "temporal").tolist() == [-8, -7, -6, -3]


def test_an_episode_is_drawn_by_its_seed(instances, tmp_path):
    path = instances[0].path
    (first, episode), (again, same), (_, other) = (
        played(path, tmp_path / "episode", seed=(seed,), share=0.5) for seed in (0, 0, 1)
    )
    assert (first.nodes, episode.taken.tolist()) == (again.nodes, same.taken.tolist())
    assert len(other.parents) != len(episode.parents) or other.taken.tolist() != episode.taken.tolist()
    assert 0 < len(episode.kept) < len(episode.parents) == len(episode.before)
    assert all(taken < len(node.candidates) for taken, node in zip(episode.taken, episode.nodes, strict=True))
    sizes = -returns(episode.parents, episode.before, first.nodes, "tree")
    assert sizes[0] == 1 + 2 * len(sizes) >= first.nodes, "SCIP prunes some children unprocessed"
    assert all(episode.parents < np.arange(len(sizes)))
    limited = [
        played(path, tmp_path / "limited", optimum=share * first.primal_bound)[0] for share in (1.01, 1)
    ]
    assert [result.status for result in limited] == ["infeasible", "optimal"]
    assert limited[1].primal_bound == pytest.approx(first.primal_bound)
    stopped, episode = played(path, tmp_path / "stopped", steps=3)
    assert (stopped.status, len(episode.parents)) == ("nodelimit", 3)


class Known(SamplingPolicy):
    """Its scores are 0, -1, -2 and so on."""

    def score(self, node):
        return -np.arange(len(node.candidates), dtype=float)


def test_candidates_are_drawn_from_the_softmax(instances, tmp_path):
    episodes = [played(instances[0].path, tmp_path / "episode", Known, seed=(seed,))[1] for seed in range(3)]
    taken = np.concatenate([episode.taken for episode in episodes])
    share = np.bincount(taken, minlength=3)[:3] / len(taken)
    np.testing.assert_allclose(share, (1 - np.exp(-1)) * np.exp(-np.arange(3)), atol=0.1)


def world(tmdp, instances, folder, **fields):
    config = tmdp.TmdpConfig.model_validate(tmdp.PRESETS["smoke"] | fields)
    here, there = InProcess(), InProcess()
    return tmdp.World(config, instances[:1], instances[1:], PAPER, folder, Store(folder), here, there, print)


def test_the_smaller_subtree_gains_probability(tmdp, instances, tmp_path):
    _, episode = played(instances[0].path, tmp_path / "episode", steps=2)
    node, weights = episode.nodes[0][:2], some_weights()

    def logs(weights):
        graph = tmdp.join([node], [0], 1, step=2.0)
        return np.asarray(tmdp.log_softmax(tmdp.gnn_model.scores(weights, graph), graph))[:2]

    def stepped(values, **fields):
        config = tmdp.TmdpConfig(rate=1e-4, batch=4, **fields)
        adam = tmdp._adam.init(tmdp.trained_part(weights))
        moved, _, found = tmdp.update(weights, adam, [(node, k, v) for k, v in enumerate(values)], config)
        assert found["entropy"] == pytest.approx(-np.sum(np.exp(logs(weights)) * logs(weights)), rel=1e-4)
        return logs(moved) - logs(weights)

    for values in ([-3.0, -301.0], [-301.0, -3.0]):
        gains = stepped(values)
        assert gains[np.argmin(values)] < 0 < gains[np.argmax(values)]
    assert stepped([0.0, 0.0], entropy=1.0)[np.argmin(logs(weights))] > 0, "the unlikely becomes less so"


def test_fresh_normalisations_are_fitted_to_each_node_once(tmdp, instances, tmp_path, monkeypatch):
    nodes, shown = played(instances[0].path, tmp_path / "episode", steps=3)[1].nodes, []
    monkeypatch.setattr(tmdp, "sample", lambda *_: ([(node, 0, 0.0) for node in nodes], {}))
    monkeypatch.setattr(tmdp, "validate", lambda *_: 1.0)
    monkeypatch.setattr(tmdp.Gnn, "fitted", lambda start, graphs: shown.extend(graphs) or start)
    next(tmdp.epochs(world(tmdp, instances, tmp_path, batch=2)))
    assert sum(graph.n_variables for graph in shown) == sum(len(node.variables) for node in nodes)


def test_a_killed_training_goes_on_to_the_same_weights(tmdp, instances, tmp_path, monkeypatch):
    def trained(folder):
        there = world(tmdp, instances, tmp_path / folder, share=0.1, dfs=True, objective_limit=True)
        return tmdp.epochs(there, some_weights())

    whole = list(trained("whole"))
    assert [state.epoch for state, _ in whole] == [0, 1, 2]
    assert all(metrics["transitions"] > 0 == metrics["rejected"] for _, metrics in whole[1:])
    list(islice(trained("killed"), 1))
    with monkeypatch.context() as patch:
        patch.setattr(tmdp, "update", lambda *_: 1 / 0)  # once the episodes are on disk
        with pytest.raises(ZeroDivisionError):
            list(trained("killed"))
    with monkeypatch.context() as patch:
        patch.setattr(SamplingPolicy, "attach", lambda *_: pytest.fail("an episode is solved again"))
        list(islice(trained("killed"), 1))
    assert [metrics for _, metrics in trained("killed")] == [metrics for _, metrics in whole[2:]]
    states = {(tmp_path / folder / tmdp.STATE).read_bytes() for folder in ("whole", "killed")}
    assert len(states) == 1
    assert list((tmp_path / "whole" / tmdp.EPISODES).iterdir()) == []
    assert whole[-1][0].best_loss == min(metrics["valid_nodes"] for _, metrics in whole)


def test_a_rejected_episode_keeps_its_reason(tmdp, instances, tmp_path):
    here = world(tmdp, instances, tmp_path, steps=2, epochs=1)
    (_, _), (state, metrics) = tmdp.epochs(here, some_weights())
    assert (metrics["rejected"], metrics["transitions"]) == (2, 0)
    assert np.array_equal(state.weights["score.2.weight"], np.float32(some_weights()["score.2.weight"]))
    kept = sorted((tmp_path / tmdp.EPISODES).iterdir())
    assert [file.name for file in kept] == ["00001-00.json", "00001-01.json"]
    assert "ended with nodelimit: an episode has at most 2 branchings" in kept[0].read_text()


def test_episodes_need_no_jax():
    code = "import sys; sys.modules['jax'] = None; import bife_rivals.tmdp_policy"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.long
def test_the_flow_writes_a_method(train_by_command):
    pytest.importorskip("jax", reason="training needs the extra `learned` of bife-rivals")
    file = train_by_command("--network", "tmdp")
    for one in (file, train_by_command("--network", "tmdp", "--start", str(file))):
        method = load_method(one)
        assert method.kind == "gnn"
        assert method.name.startswith("tmdp-")
