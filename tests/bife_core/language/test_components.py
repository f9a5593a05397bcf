"""Components: branching, and a third one from its file alone, whose rules are checked, written and solved with."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pyscipopt
import pytest

import bife_core
from bife_core.base.errors import ConfigError, RuleError, SolverError
from bife_core.extend.testing import check_component
from bife_core.language.components import BRANCHING, COMPONENTS, Component, component_of
from bife_core.language.features import FEATURES
from bife_core.language.rules import REFERENCE_RULES, compile_rule
from bife_core.measure.low import score_text
from bife_core.search import open_search
from bife_core.search.config import SearchConfig
from bife_core.search.generators import PromptContext
from bife_core.search.generators.parsing import parse_answer
from bife_core.search.generators.prompting import assemble
from bife_core.solver.methods.references import load_method, method_of
from bife_core.solver.methods.scorer import ComponentRule
from tests.support.plugins import EXAMPLE

pytestmark = pytest.mark.usefixtures("quick_auctions")

DEEPEST = "def node_score(node):\n    return node[0]\n"


def no_hook(model, rule):
    """Leaves SCIP as it is."""


@pytest.fixture
def node_order(monkeypatch):
    """The example's component, as if its package were installed."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    component = import_module("bife_example.node_order").NODE_ORDER
    monkeypatch.setitem(COMPONENTS, "node_order", component)
    return component


def test_branching_is_the_component_of_all_that_names_no_other():
    assert (COMPONENTS.find("branching"), SearchConfig().component) == (BRANCHING, "branching")
    assert BRANCHING.n_features == len(FEATURES) == 72
    for source in ("def score(x): return x", "no Python (", "def candidate_variable_score(f): return f[0]"):
        assert component_of(source) == BRANCHING
    model = pyscipopt.Model()
    BRANCHING.attach(model, compile_rule("def candidate_variable_score(f): return f[18]"))
    with pytest.raises(SolverError, match="already"):
        BRANCHING.attach(model, "most_fractional")


@pytest.mark.parametrize("name", ["branching", "node_order"])
def test_a_component_keeps_to_the_contract(node_order, name):
    check_component(name)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": "other"}, "called 'other', and registered as 'node_order'"),
        ({"function": "candidate_variable_score"}, "another component has the function"),
        (
            {"baseline": "def node_scor(node): return 0"},
            r"baseline is no rule of it: .* define node_score\(node",
        ),
        ({"hook": "tests.bife_core.language.test_components:no_hook"}, "the hook is not called"),
    ],
)
def test_a_component_that_breaks_the_contract_is_found(node_order, monkeypatch, change, why):
    monkeypatch.setitem(COMPONENTS, "node_order", replace(node_order, **change))
    with pytest.raises(AssertionError, match=why):
        check_component("node_order")


def test_rules_of_a_component_are_checked_compiled_and_hashed_as_its_own(node_order):
    rule = compile_rule(DEEPEST, component=node_order)
    assert rule.score(np.array([[3.0, 0.0, 0.0], [5.0, 0.0, 0.0]])).tolist() == [3.0, 5.0]
    same = compile_rule("def candidate_variable_score(f): return f[0]")
    assert rule.sha != same.sha, "of another width, its machine code is another"
    for source, why in (("node[3]", "from 0 to 2"), ("node", r"such as node\[0\]")):
        result = compile_rule(f"def node_score(node): return {source}", component=node_order)
        with pytest.raises(AssertionError, match=why):
            raise AssertionError(result.reason)
    for given in (REFERENCE_RULES["hybrid"].source, '{"kind": "scip", "name": "pscost"}'):
        failure = score_text(given, None, "accuracy", 0, method=True, component="node_order")["failure"]
        assert "node_score(node)" in failure or "node_order was expected" in failure


@pytest.mark.parametrize(("indices", "given"), [((1, 0), "1, 0"), ((0, 2), "0, 2"), ((0, 0), "0, 0")])
def test_indices_other_than_in_order_are_said(indices, given):
    features = tuple(replace(FEATURES[0], index=index) for index in indices)
    with pytest.raises(ValueError, match=f"of odd must have the indices 0, 1, 2, ... in order, not {given}"):
        Component(name="odd", function="f", argument="x", features=features, hook="")


def test_a_file_that_defines_no_function_of_a_rule_is_told_all_of_them(node_order, tmp_path):
    (tmp_path / "deepest.py").write_text(DEEPEST.replace("node_score", "node_scor"))
    with pytest.raises(RuleError, match=r"candidate_variable_score\(.*defines .*node_score \(node_order\)"):
        load_method(tmp_path / "deepest.py")
    (tmp_path / "none.py").write_text("def candidate_variable_score(): return 1")
    with pytest.raises(RuleError) as error:
        load_method(tmp_path / "none.py")
    assert "another component" not in str(error.value)


def test_a_file_of_its_function_is_a_method_that_scip_solves_by(node_order, knapsacks, tmp_path):
    (tmp_path / "deepest.py").write_text(DEEPEST)
    deepest = load_method(tmp_path / "deepest.py")
    assert isinstance(deepest, ComponentRule)
    highest = method_of(DEEPEST.replace("node[0]", "-node[0]"))
    assert load_method(deepest.compiled) == deepest
    assert method_of(deepest.text).identity == deepest.identity != highest.identity
    first, second = (bife_core.solve(knapsacks[0].path, by) for by in (deepest, highest))
    assert first.primal_bound == pytest.approx(second.primal_bound)
    assert first.nodes != second.nodes


def test_models_are_asked_for_its_function_and_answer_with_it(node_order):
    search = open_search(
        SearchConfig(algorithm="bife_without_f_lf", component="node_order", samples=3, initial=2)
    )
    first, _, baseline = search.ask()
    assert baseline.source == node_order.baseline
    (message,) = assemble(first, PromptContext(benchmark="set_covering"))
    for words in ("- node[1] lower_bound: dual bound", "def node_score(node) -> float:", node_order.about):
        assert words in message.content
    for words in ("$", "candidate_variable_score", "branching rule"):
        assert words not in message.content
    parsed = parse_answer(f"<think>node_score</think>{{Deepest node first}}\n{DEEPEST}", component=node_order)
    assert (parsed.thought, parsed.source) == ("Deepest node first", DEEPEST)


def test_a_search_breeds_its_rules_and_one_by_f_lf_is_refused(node_order, tmp_path):
    few = {"search.samples": 3, "search.initial": 2, "search.population": 2}
    few |= {"search.algorithm": "bife_without_f_lf", "search.component": "node_order"}
    config = bife_core.with_overrides(bife_core.preset("smoke"), few)
    benchmark = bife_core.open_benchmark(config.instances, tmp_path)
    with bife_core.InProcess() as workers:
        design = benchmark.instances("design", 1)
        result = bife_core.create_study(config, design, workers=workers, folder=tmp_path / "search").run()
    assert [sample.failure for sample in result.samples if not sample.valid] == []
    assert result.samples[2].source == node_order.baseline
    assert "node_score(node)" in str(result.best.source)
    with pytest.raises(ConfigError, match="goes by F_LF"):
        open_search(SearchConfig(component="node_order"))
