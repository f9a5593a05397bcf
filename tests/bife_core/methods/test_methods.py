"""Methods of every kind: solved with, sent to workers, read from files, told apart."""

from __future__ import annotations

import copy
import ctypes
import json
import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyscipopt
import pytest
from pydantic import ValidationError

import bife_core
from bife_core.benchmarks.base import Instance
from bife_core.errors import RuleError
from bife_core.evaluation.config import EvaluationConfig
from bife_core.evaluation.measuring import Setting
from bife_core.evaluation.summary import EvaluationSummary, evaluate
from bife_core.features import FEATURES, N_FEATURES
from bife_core.methods.base import METHODS, Method, ScipMethod
from bife_core.methods.loading import load_method, method_of
from bife_core.methods.mlp import Layer, MlpMethod
from bife_core.methods.rule import RuleMethod
from bife_core.methods.scorer import Scorer
from bife_core.methods.using import solve
from bife_core.report import Report, render_page
from bife_core.sandbox import WorkerPool
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import SolveJob, run_solves
from bife_core.store import Store

SETTINGS = SolveSettings(node_limit=200)
SOURCE = "def candidate_variable_score(variable_features):\n    return variable_features[24]\n"
PRODUCT = FEATURES[24].name


def network(*widths: int, activation: str = "relu", inputs: int = N_FEATURES) -> MlpMethod:
    draw = np.random.default_rng(1)
    shapes = zip((inputs, *widths), (*widths, 1), strict=True)
    layers = [
        {"weights": draw.normal(size=(after, before)).tolist(), "bias": draw.normal(size=after).tolist()}
        for before, after in shapes
    ]
    names = [feature.name for feature in FEATURES[:N_FEATURES]][::-1][:inputs]
    more = {"mean": draw.normal(size=inputs).tolist(), "scale": draw.uniform(1, 2, size=inputs).tolist()}
    data = {"name": "net", "inputs": names, "layers": layers, "activation": activation, **more}
    return MlpMethod.model_validate(data)


def linear(name: str = "linear", weight: float = 1.0) -> MlpMethod:
    return MlpMethod(name=name, inputs=(PRODUCT,), layers=(Layer(weights=((weight,),), bias=(0.0,)),))


class Slow(Scorer):
    """A scorer without machine code."""

    kind: str = "slow"
    column: int = 24

    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.column < 0:
            raise ZeroDivisionError("no such column")
        return X[:, self.column]


def tree(result: SolveResult) -> tuple[int, int, int]:
    return result.nodes, result.lp_iterations, result.calls


def in_numpy(method: MlpMethod, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    index = {feature.name: feature.index for feature in FEATURES}
    values = (X[:, [index[name] for name in method.inputs]] - np.array(method.mean)) / np.array(method.scale)
    for position, layer in enumerate(method.layers):
        if position:
            values = np.maximum(values, 0.0) if method.activation == "relu" else np.tanh(values)
        values = values @ np.array(layer.weights).T + np.array(layer.bias)
    scores: npt.NDArray[np.float64] = values[:, 0]
    return scores


@pytest.mark.parametrize("method", [network(), network(8), network(16, 8), network(5, inputs=3)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_network_scores_the_same_as_machine_code_and_in_numpy(method: MlpMethod, activation: str) -> None:
    method = method.model_copy(update={"activation": activation})
    X = np.random.default_rng(0).normal(size=(9, N_FEATURES))
    out = np.zeros(len(X))
    scorer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
        method.address
    )
    assert scorer(X.ctypes.data, len(X), out.ctypes.data) == 0
    np.testing.assert_array_equal(out, method.score(X))
    np.testing.assert_allclose(out, in_numpy(method, X), rtol=1e-10, atol=1e-12)
    assert len(set(out)) == len(X)


def test_a_copy_of_a_network_that_has_scored_scores_by_its_own_weights() -> None:
    X = np.random.default_rng(0).normal(size=(9, N_FEATURES))
    used, heavier = linear(weight=1.0), linear(weight=2.0)
    scores = used.score(X)
    np.testing.assert_array_equal(
        used.model_copy(update={"layers": heavier.layers}).score(X), heavier.score(X)
    )
    for same in (copy.deepcopy(used), used.model_copy(deep=True), pickle.loads(pickle.dumps(used))):
        assert same == used
        np.testing.assert_array_equal(same.score(X), scores)


def test_a_rule_its_weights_and_python_walk_the_same_tree(tiny_auctions: list[Instance]) -> None:
    same = [RuleMethod(name="rule", source=SOURCE), linear(), Slow(name="slow")]
    results = [solve(tiny_auctions[0].path, method, settings=SETTINGS) for method in same]
    assert results[0].calls > 0
    assert len({tree(result) for result in results}) == 1
    assert [result.method for result in results] == ["rule", "linear", "slow"]
    assert [result.rule_sha for result in results] == [method.identity for method in same]
    assert solve(tiny_auctions[0].path, ScipMethod(name="relpscost"), settings=SETTINGS).rule_sha is None


def test_what_a_python_scorer_raises_is_counted_and_told(tiny_auctions: list[Instance]) -> None:
    with pytest.warns(
        UserWarning, match=r"broken raised at a branching: ZeroDivisionError\('no such column'\)"
    ):
        result = solve(tiny_auctions[0].path, Slow(name="broken", column=-1), settings=SETTINGS)
    assert result.calls == result.rule_errors > 0


def test_a_scorer_is_attached_like_a_rule(tiny_auctions: list[Instance]) -> None:
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(tiny_auctions[0].path))
    stats = bife_core.attach(model, linear(), guard=True)
    model.optimize()
    assert stats.calls > 0
    assert stats.fallbacks == 0


def test_identities_tell_methods_apart_by_what_they_do() -> None:
    assert linear("a").identity == linear("b").identity
    assert linear().identity != linear(weight=2.0).identity
    assert RuleMethod(name="a", source=SOURCE).identity == bife_core.compile_rule(SOURCE).sha  # type: ignore[union-attr]
    assert ScipMethod(name="pscost").identity == "pscost"


@pytest.mark.parametrize(
    "method",
    [ScipMethod(name="pscost"), RuleMethod(name="r", source=SOURCE), network(4)],
    ids=lambda m: m.kind,
)
def test_a_job_travels_as_json(method: Method, tiny_auctions: list[Instance]) -> None:
    job = SolveJob.of(tiny_auctions[0], method, SETTINGS)
    back = SolveJob.model_validate_json(job.model_dump_json())
    assert back.method == method
    assert type(back.method) is type(method)
    assert back.key == job.key


def test_a_job_of_a_kind_that_is_not_installed_is_refused(tiny_auctions: list[Instance]) -> None:
    data = SolveJob.of(tiny_auctions[0], linear(), SETTINGS).model_dump(mode="json")
    data["method"]["kind"] = "elsewhere"
    with pytest.raises(bife_core.BifeError, match="no method 'elsewhere'; choose one of scip, rule, mlp"):
        SolveJob.model_validate(data)


def test_workers_solve_with_any_method_and_solves_are_kept(
    tiny_auctions: list[Instance], pool: WorkerPool, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    job = SolveJob.of(tiny_auctions[0], network(8), SETTINGS)
    (solved,) = run_solves([[job]], store, pool)
    assert solved.failure is None
    assert solved.result.calls > 0
    assert tree(solved.result) == tree(solve(tiny_auctions[0].path, network(8), settings=SETTINGS))
    (again,) = run_solves([[job]], store, pool)
    assert (again.reused, again.result) == (True, solved.result)


def test_a_scorer_is_evaluated_beside_a_rule_and_stands_in_the_report(
    tiny_auctions: list[Instance], pool: WorkerPool, tmp_path: Path
) -> None:
    config = EvaluationConfig(seeds=(0,), time_limit_s=60, baseline="pseudocost_product")
    setting = Setting("tiny", tuple(tiny_auctions[:2]))
    summary = evaluate([network(4), ScipMethod(name="pscost")], [setting], config, pool, Store(tmp_path))
    assert (summary.rule, summary.baseline) == ("net", "pseudocost_product")
    again = EvaluationSummary.model_validate_json(summary.model_dump_json())
    assert again.methods == summary.methods
    assert summary.label_of(network(4).identity) == "net"
    page = render_page(Report(evaluations=(again,)))
    assert "<h2>The methods</h2>" in page
    assert network(4).identity in page


def test_methods_are_loaded_by_whatever_names_them(tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text(network(4).text)
    assert load_method(str(weights)) == network(4)
    unnamed = json.loads(linear().text)
    del unnamed["name"]
    weights.write_text(json.dumps(unnamed))
    assert load_method(weights) == linear("weights")
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    assert load_method(file) == RuleMethod(name="mine", source=SOURCE)
    assert load_method("pscost") == ScipMethod(name="pscost")
    assert method_of(RuleMethod(name="x", source=SOURCE).text, "x") == RuleMethod(name="x", source=SOURCE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "oracle"}, r"weights is no method: 'kind' must be one of scip, rule, mlp"),
        ({"inputs": ["gut_feeling"]}, "there is no feature 'gut_feeling'"),
        ({"inputs": [PRODUCT, PRODUCT]}, "layer 1 needs rows of 2 weights"),
        ({"layers": [{"weights": [[1], [1]], "bias": [0, 0]}]}, "the last layer gives the score"),
        ({"scale": [0]}, "'scale' divides"),
        ({"mean": [1, 2]}, "'mean' needs one number for each of the 1 inputs"),
        ({"wieghts": []}, "Extra inputs are not permitted"),
    ],
)
def test_a_file_that_is_no_method_is_refused_with_a_sentence(
    change: dict[str, object], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "weights.json"
    file.write_text(json.dumps(json.loads(linear().text) | change))
    with pytest.raises(RuleError, match=said):
        load_method(file)


def test_text_that_is_no_json_or_no_rule_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    file.write_text('{"kind": "mlp", ')
    with pytest.raises(RuleError, match="weights is no JSON file of a method"):
        load_method(file)
    file.write_text("import os")
    with pytest.raises(RuleError, match="is not a usable rule"):
        load_method(file)
    with pytest.raises(RuleError, match="There is no rule 'relpscosts'"):
        load_method("relpscosts")


def test_scip_methods_are_those_bife_knows() -> None:
    with pytest.raises(ValidationError):
        ScipMethod(name="branching")
    assert list(METHODS) == ["scip", "rule", "mlp"]
