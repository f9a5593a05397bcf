"""Methods of every kind: solved with, sent to workers, read from files, distinguished."""

import copy
import pickle

import numpy as np
import pytest
from pydantic import ValidationError

import bife_core
from bife_core.base.errors import RuleError, SolverError
from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.evaluation.summary import EvaluationSummary, evaluate
from bife_core.measure.solves import SolveJob
from bife_core.run.show.report import Report, render_page
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.base import METHODS, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method, method_of
from bife_core.solver.methods.scorer import RuleMethod, Scorer
from bife_core.solver.scip.solve import SolveSettings
from bife_core.store import Store
from bife_core.workers import InProcess
from tests.support.weighted import KIND, Weighted

SETTINGS = SolveSettings(node_limit=200)
SOURCE = "def candidate_variable_score(variable_features):\n    return variable_features[24]\n"
PRODUCT = FEATURES[24].name


@pytest.fixture(autouse=True)
def _a_kind_of_our_own(monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)


def linear(name="linear", weight=1.0):
    return Weighted(name=name, weights={PRODUCT: weight})


class Broken(Weighted):
    def score(self, X):
        raise ZeroDivisionError("no such column")


def tree(result):
    return result.nodes, result.lp_iterations, result.calls


def test_a_rule_and_a_python_scorer_walk_the_same_tree(knapsacks):
    same = [RuleMethod(name="rule", source=SOURCE), linear()]
    results = [solve(knapsacks[0].path, method, settings=SETTINGS) for method in same]
    assert results[0].calls > 0
    assert len({tree(result) for result in results}) == 1
    assert [result.method for result in results] == ["rule", "linear"]
    assert [result.rule_sha for result in results] == [method.identity for method in same]
    assert solve(knapsacks[0].path, ScipMethod(name="relpscost"), settings=SETTINGS).rule_sha is None


def test_what_a_python_scorer_raises_is_counted_and_reported(knapsacks):
    broken = Broken(name="broken", weights={})
    message = r"broken raised at a branching: ZeroDivisionError\('no such column'\)"
    with pytest.warns(UserWarning, match=message):
        result = solve(knapsacks[0].path, broken, settings=SETTINGS)
    assert result.calls == result.rule_errors > 0


@pytest.mark.filterwarnings("ignore:broken raised")
def test_a_conclusion_says_that_a_method_left_its_branchings_to_scip(knapsacks, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Broken)
    config = EvaluationConfig(seeds=(0,), time_limit_s=60)
    broken = Broken(name="broken", weights={})
    summary = evaluate([broken], knapsacks[:1], config, InProcess(), Store(tmp_path))
    assert "broken gave no usable score at " in summary.conclusion
    assert "relpscost gave" not in summary.conclusion


def test_features_that_do_not_exist_are_refused_before_the_solve(knapsacks):
    class Beyond(Weighted):
        @property
        def features(self):
            return frozenset({BRANCHING.n_features})

    with pytest.raises(SolverError, match=f"numbers from 0 to {BRANCHING.n_features - 1}"):
        solve(knapsacks[0].path, Beyond(name="beyond", weights={}), settings=SETTINGS)


def test_identities_distinguish_methods_by_what_they_do():
    assert linear("a").identity == linear("b").identity
    assert linear().identity != linear(weight=2.0).identity
    assert RuleMethod(name="a", source=SOURCE).identity == bife_core.compile_rule(SOURCE).sha
    assert ScipMethod(name="pscost").identity == "pscost"


OURS = Configuration(params={"branching/scorefac": 0.3})
KINDS = (ScipMethod(name="pscost"), RuleMethod(name="r", source=SOURCE), linear(), OURS)


@pytest.mark.parametrize("method", KINDS, ids=lambda method: method.kind)
def test_methods_and_jobs_travel_as_json_and_pickles(method, knapsacks):
    job = SolveJob(instance=knapsacks[0], method=method, settings=SETTINGS)
    back = SolveJob.model_validate_json(job.model_dump_json())
    assert back.method == method
    assert type(back.method) is type(method)
    assert back.key == job.key
    X = np.random.default_rng(0).normal(size=(9, BRANCHING.n_features))
    for same in (copy.deepcopy(method), pickle.loads(pickle.dumps(method))):
        assert same == method
        if isinstance(method, Scorer):
            np.testing.assert_array_equal(same.score(X), method.score(X))


def test_a_job_of_a_kind_that_is_not_installed_is_refused(knapsacks):
    data = SolveJob(instance=knapsacks[0], method=linear(), settings=SETTINGS).model_dump(mode="json")
    data["method"]["kind"] = "elsewhere"
    message = r"no method 'elsewhere'; choose one of scip, rule, configuration, (\w+, )*weighted"
    with pytest.raises(bife_core.BifeError, match=message):
        SolveJob.model_validate(data)


def test_a_scorer_is_evaluated_beside_a_rule_and_stands_in_the_report(knapsacks, tmp_path):
    config = EvaluationConfig(seeds=(0,), time_limit_s=60, baseline="pseudocost_product")
    methods = [linear("net"), ScipMethod(name="pscost")]
    summary = evaluate(methods, knapsacks[:1], config, InProcess(), Store(tmp_path))
    assert (summary.rule, summary.baseline) == ("net", "pseudocost_product")
    again = EvaluationSummary.model_validate_json(summary.model_dump_json())
    assert again.methods == summary.methods
    assert summary.label_of(linear().identity) == "net"
    page = render_page(Report(evaluations=(again,)))
    assert "<h2>What was found</h2>" in page
    assert linear().identity in page


def test_methods_are_loaded_by_whatever_names_them(tmp_path):
    texts = {"a.json": linear().text, "b.json": linear().model_dump_json(exclude={"name"}), "c.py": SOURCE}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert load_method(str(tmp_path / "a.json")) == linear()
    assert load_method(tmp_path / "b.json") == linear("b")
    assert load_method(tmp_path / "c.py") == RuleMethod(name="c", source=SOURCE)
    assert load_method("pscost") == ScipMethod(name="pscost")
    assert method_of(RuleMethod(name="x", source=SOURCE).text, "x") == RuleMethod(name="x", source=SOURCE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "oracle"}', "weights is no method: 'kind' must be one of scip, rule, configuration, "),
        ('{"kind": "weighted", "wieghts": {}}', "weights is no method: "),
        ('{"kind": "weighted", ', "weights is no JSON file of a method"),
        ("import os", "is not a usable rule"),
    ],
)
def test_a_file_that_is_no_method_is_refused_with_a_sentence(text, message, tmp_path):
    file = tmp_path / "weights.json"
    file.write_text(text)
    with pytest.raises(RuleError, match=message):
        load_method(file)


def test_scip_methods_are_those_bife_knows():
    with pytest.raises(ValidationError):
        ScipMethod(name="branching")
    assert list(METHODS)[:3] == ["scip", "rule", "configuration"]
