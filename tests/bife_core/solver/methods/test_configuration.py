"""A configuration: parameters of SCIP and what branches under them, as a method, a file and in a model."""

import warnings

import pyscipopt
import pytest
from pydantic import ValidationError

from bife_core.base.errors import RuleError
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.evaluation.summary import evaluate
from bife_core.measure.solves import SolveJob
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.base import RPB, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import budgeted, load_method, method_of, with_budget
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import SolverConfig, settings_in, usual_parameters
from bife_core.solver.scip.solve import SolveSettings
from bife_core.store import Store
from bife_core.workers import InProcess

RELIABLY = {"inferenceweight": 1e-5, "maxlookahead": 3, "probingbounds": False}
PARAMS = {f"branching/relpscost/{name}": value for name, value in RELIABLY.items()}
TUNED = Configuration(params={"branching/scorefunc": "q", **PARAMS, "separating/maxrounds": 0})
WITH_RULE = Configuration(params=TUNED.params, branching=load_method("pseudocost_product"))


@pytest.mark.parametrize(
    "method",
    [
        TUNED,
        Configuration(),
        Configuration(params=TUNED.params, branching=ScipMethod(name="gomory")),
        Configuration(params={"heuristics/alns/rewardfilename": "a#b"}),
        WITH_RULE,
    ],
    ids=["tuned", "rpb", "gomory", "text", "rule"],
)
def test_its_text_is_a_file_that_is_read_back(method, tmp_path):
    assert method_of(method.text, "configuration") == method
    assert method.by_scip == (method.file_name == "configuration.set") == (method is not WITH_RULE)
    comment = "# ours\n\n" if method.by_scip else ""
    (file := tmp_path / method.file_name).write_text(comment + method.text)
    assert load_method(str(file)) == load_method(file) == method


@pytest.mark.parametrize(
    ("text", "params"),
    [("", {}), ("# nothing\n", {}), ("\ufeffbranching/scorefunc\t= s\n", {"branching/scorefunc": "s"})],
)
def test_a_settings_file_is_one_by_its_name(text, params, tmp_path):
    (file := tmp_path / "ours.SET").write_text(text, encoding="utf-8")
    method = load_method(str(file))
    assert (method.params, SolverConfig.model_validate(file).params) == (params, params)


def test_scip_reads_the_file_too(tmp_path):
    (file := tmp_path / TUNED.file_name).write_text(TUNED.text)
    read, attached = pyscipopt.Model(), pyscipopt.Model()
    read.readParams(str(file))
    assert attach(attached, file).calls == 0
    head = {"branching/relpscost/priority": 0}
    assert read.getParams() | head == attached.getParams() | head
    assert attached.getParam("branching/relpscost/probingbounds") is False


def test_every_parameter_is_written_as_scip_reads_it():
    whole = Configuration.model_construct(params=dict(usual_parameters()))
    assert settings_in(whole.settings, "whole.set") == {}


def test_it_is_told_by_what_it_changes():
    assert Configuration(params={"branching/scorefunc": "p"}).identity == Configuration().identity == RPB
    whole = Configuration(params={"branching/relpscost/maxreliable": 3})
    assert whole.identity == Configuration(name="x", params={"branching/relpscost/maxreliable": 3.0}).identity
    assert len({RPB, whole.identity, TUNED.identity}) == 3


def test_without_parameters_its_solves_are_those_of_rpb(knapsacks):
    about = {"instance": knapsacks[0], "settings": SolveSettings()}
    jobs = (SolveJob(method=method, **about) for method in (ScipMethod(name=RPB), Configuration()))
    assert len({job.key for job in jobs}) == 1


def test_it_walks_another_tree_than_rpb(knapsacks):
    results = [solve(knapsacks[0].path, method) for method in (RPB, TUNED)]
    assert results[0].primal_bound == pytest.approx(results[1].primal_bound)
    assert (results[0].nodes, results[0].lp_iterations) != (results[1].nodes, results[1].lp_iterations)
    assert (results[1].method, results[1].rule_sha) == ("configuration", None)


def test_a_comparison_says_where_its_file_does_better_than_the_rule(knapsacks, tmp_path):
    config = EvaluationConfig(seeds=(0,), time_limit_s=60, metric="nodes")
    slow = load_method("most_fractional")
    methods = [slow, TUNED, Configuration(name="same")]
    summary = evaluate(methods, knapsacks[1:2], config, InProcess(), Store(tmp_path))
    assert list(summary.methods) == [slow.name, "configuration", RPB], "without parameters it is the baseline"
    ratios = {comparison.method: comparison.ratio for comparison in summary.comparisons}
    assert ratios["configuration"] < ratios[slow.name]
    odd = summary.model_copy(update={"methods": {"../../evil": TUNED, RPB: TUNED, "models:/bife-t/1": TUNED}})
    files = ["configuration.set", "configuration_2.set", "configuration_3.set"]
    assert list(odd.settings_files.values()) == files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limits/gap = 0.1\n", r"ours is no method: .*limits/gap is no part of a method"),
        ("numerics/feastol = 1e-5\n", r"numerics/feastol is no part of a method"),
        ("branching/allfullstrong/priority = 50000\n", "branch by allfullstrong; a method branches by one of"),
        ("branching/relpscost/maxlookahed = 3\n", "ours, line 1: .* did you mean branching/relpscost/maxlookahead"),
        (
            "branching/fullstrong/priority = 20000\nbranching/pscost/priority = 20000\n",
            r"ours gives (fullstrong and pscost|pscost and fullstrong) the same priority",
        ),
        ("branching/scorefunc = z\n", "SCIP does not take the settings in ours"),
        ("def candidate_variable_score(f): return f[0]\n", "SCIP does not take the settings in ours"),
    ],
)  # fmt: skip
def test_a_settings_file_of_anything_else_is_refused(text, message, tmp_path):
    (file := tmp_path / "ours.set").write_text(text)
    with pytest.raises(RuleError, match=message):
        load_method(file)


def test_the_rule_of_highest_priority_branches(tmp_path):
    (file := tmp_path / "ours.set").write_text("branching/pscost/priority = 10001\nlp/pricing = d\n")
    method = load_method(file)
    assert (method.branching, method.params) == (ScipMethod(name="pscost"), {"lp/pricing": "d"})
    file.write_text("branching/pscost/priority = 9999\n")
    assert load_method(file).identity == RPB


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"params": {"branching/foo": 1}}, "no parameter branching/foo"),
        ({"params": {"branching/scorefunc": "s\nlimits/nodes = 3"}}, "limits/nodes is no part"),
        ({"params": {"branching/pscost/priority": 10}}, "what branches is the field 'branching'"),
        ({"params": {"separating/maxrounds": 10**400}}, "as -1"),
        ({"params": {"separating/maxrounds": 2**32}}, "as 0"),
        ({"params": {"separating/maxrounds": "3 # 4"}}, "would be 3"),
        ({"params": {"separating/maxrounds": float("nan")}}, "<nan>"),
        ({"branching": TUNED}, "a configuration does not branch"),
    ],
)
def test_what_scip_does_not_take_is_refused_at_once(fields, message):
    with pytest.raises(ValidationError, match=message):
        Configuration(**fields)


def test_attaching_sets_all_but_what_the_model_has_set_itself(knapsacks):
    model = read_model(knapsacks[0].path)
    model.setParams({"separating/maxrounds": 5, "branching/relpscost/maxlookahead": 3})
    with pytest.warns(UserWarning, match=r"leaves what .* separating/maxrounds = 5 \(not 0\)\.") as caught:
        stats = attach(model, WITH_RULE)
    assert caught[0].filename == __file__
    assert (model.getParam("separating/maxrounds"), model.getParam("branching/scorefunc")) == (5, "q")
    model.optimize()
    assert stats.calls > 0


def test_a_parameter_that_the_model_has_fixed_stays(tmp_path):
    (file := tmp_path / "fixed.set").write_text("separating/maxrounds = -1 fix\n")
    model = pyscipopt.Model()
    model.readParams(str(file))
    with pytest.warns(UserWarning, match=r"leaves what the model .* separating/maxrounds = -1 \(not 0\)\."):
        attach(model, WITH_RULE)
    assert model.getParam("branching/scorefunc") == "q"


@pytest.mark.parametrize("branching", [RPB, "general"])
def test_a_file_found_with_another_minor_version_of_scip_warns_once_it_is_used(branching, tmp_path):
    lean = Configuration(params={"branching/scorefunc": "q"}, branching=load_method(branching))
    for version, warns in (
        (lean.scip, False),
        (f"{lean.scip.rpartition('.')[0]}.99", False),
        ("9.2.1", True),
    ):
        (first, text), *_ = lean.model_copy(update={"scip": version}).files(tmp_path / "lean.set").items()
        first.write_text(text)
        with warnings.catch_warnings(record=True) as caught:
            attach(pyscipopt.Model(), first)
        about = f"{load_method(first).name} was found with SCIP 9.2.1, and this is SCIP {lean.scip}: compare it anew."
        assert [str(each.message) for each in caught] == [about] * warns


def test_a_rule_in_it_that_is_not_allowed_is_refused_when_it_is_loaded(tmp_path):
    rule = RuleMethod(name="bad", source="import os")
    (file := tmp_path / "ours.json").write_text(Configuration(branching=rule).text)
    with pytest.raises(RuleError, match=r"ours\.json is not a usable rule"):
        load_method(file)


def test_a_budget_is_that_of_what_branches():
    method = with_budget(WITH_RULE, 0.5)
    assert method.identity != WITH_RULE.identity
    assert method.branching == with_budget(WITH_RULE.branching, 0.5)
    assert budgeted(WITH_RULE, [0.5, 0.7]) == [method, with_budget(WITH_RULE, 0.7)]
    assert budgeted(TUNED, [0.5]) == budgeted(load_method("relpscost"), [0.5]) == []


def test_a_reader_is_shown_settings_and_the_source_of_what_branches():
    assert TUNED.shown == TUNED.settings
    rule, shown = load_method("pseudocost_product"), with_budget(WITH_RULE, 0.5).shown
    assert shown == f"{WITH_RULE.settings}\n# pseudocost_product,budget=0.5\n{rule.text}"
