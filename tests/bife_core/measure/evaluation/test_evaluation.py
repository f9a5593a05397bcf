"""Comparing a rule with RPB: pairs on one core, seeds averaged, contradictions found."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.measure import solves as jobs
from bife_core.measure.evaluation.protocol import interleaved, labelled
from bife_core.measure.evaluation.summary import evaluate, looks
from bife_core.measure.solves import SolveJob
from bife_core.run.config import EvaluationConfig
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.references import load_method
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings, contradictions, disagree
from bife_core.store import Store
from tests.support import measured

CONFIG = EvaluationConfig(instances=2, seeds=(0, 1), time_limit_s=60)


def outcome(instance, bound, status="optimal", method="a"):
    return measured.result(
        instance=instance, method=method, status=status, primal_bound=bound, dual_bound=bound
    )


def test_methods_are_compared_and_an_evaluation_goes_on_where_it_stopped(knapsacks, pool, tmp_path):
    methods, steps = [load_method("pseudocost_product"), ScipMethod(name="pscost")], []
    arguments = methods, knapsacks[:2], CONFIG, pool, Store(tmp_path)
    summary = evaluate(*arguments, progress=lambda *step: steps.append(step))
    names, lead = ["pseudocost_product", "pscost"], summary.lead
    assert (summary.rule, lead.instances, list(summary.methods)) == (names[0], 2, [*names, "relpscost"])
    assert (summary.mismatches, summary.failures, summary.reused) == ((), (), 0)
    assert len(summary.rows) == 2 * 2 * 3
    assert (steps[0], steps[-1]) == ((0, 12), (12, 12))
    assert [pair.method for pair in summary.comparisons] == names
    assert lead.node_ratio * lead.per_node_ratio == pytest.approx(lead.ratio)
    assert lead.ci_low <= lead.ratio <= lead.ci_high
    assert summary.machine.lp_solver

    # One solve is lost; only that one is done again.
    with closing(sqlite3.connect(tmp_path / "bife.db")) as database, database:
        database.execute("DELETE FROM solves WHERE rowid = (SELECT min(rowid) FROM solves)")
    again = evaluate(*arguments)
    assert again.reused == 11
    assert sum(row in summary.rows for row in again.rows) >= 11


def test_the_order_is_fair_to_all_methods(knapsacks):
    methods = labelled([ScipMethod(name=name) for name in ("pscost", "mostinf", "relpscost")])
    groups = interleaved(methods, knapsacks[:3], CONFIG, SolverConfig())
    assert [len(group) for group in groups] == [3] * 6
    for group in groups:
        assert len({(solve.instance.name, solve.settings.seed) for solve in group}) == 1
        assert {solve.method.name for solve in group} == set(methods)
    firsts = [group[0].method.name for group in groups]
    assert {firsts.count(method) for method in methods} == {2}
    seeds = [group[0].settings.seed for group in groups]
    assert seeds == sorted(seeds), "a run that stops early has seen all instances once"


def test_a_rule_under_two_names_is_one_method_and_two_of_one_name_are_two():
    rule = load_method("paper_ca")
    copy = RuleMethod(name="copy", source=f"# another text\n{rule.text}")
    labels = list(labelled([rule, ScipMethod(name="pscost"), copy]))
    assert labels == ["paper_ca", "pscost"], "the first leads"
    other = RuleMethod(name="paper_ca", source=load_method("paper_sc").text)
    assert list(labelled([rule, other])) == [f"paper_ca ({one.identity[:6]})" for one in (rule, other)]
    posing = RuleMethod(name="relpscost", source=rule.text)
    assert list(labelled([posing])) == [f"relpscost ({rule.identity[:6]})"], "only RPB is taken for RPB"
    assert next(iter(labelled([ScipMethod(name="relpscost"), posing]))) == "relpscost"


def test_the_first_solve_of_a_process_is_preceded_by_an_unmeasured_one(knapsacks, monkeypatch):
    solved = []
    real = jobs.solve

    def watched(path, who, **settings):
        solved.append(getattr(who, "name", who))
        return real(path, who, **settings)

    monkeypatch.setattr(jobs, "solve", watched)
    monkeypatch.setattr(jobs, "_warm", False)
    method, settings = ScipMethod(name="pscost"), SolveSettings(node_limit=1)
    job = SolveJob(instance=knapsacks[0], method=method, settings=settings).model_dump(mode="json")
    for _ in range(2):
        assert jobs.solve_job(warm_up_s=0.2, **job)["method"] == "pscost"
    assert solved == ["most_fractional", "pscost", "pscost"]


def test_without_any_solve_of_the_baseline_there_is_an_error_with_the_reason(pool, tmp_path):
    missing = Instance("gone", tmp_path / "gone.mps", "0" * 16)
    with pytest.raises(SolverError, match=r"No solve of relpscost could be finished.*gone"):
        evaluate([ScipMethod(name="pscost")], [missing], CONFIG, pool, Store(tmp_path))


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        (outcome("x", 10.0), outcome("x", 10.0 + 1e-7), False),
        (outcome("x", 10.0), outcome("x", 10.1), True),
        (outcome("x", 10.0), outcome("x", 10.0 + 2e-4), True),
        (outcome("x", 0.014443377565), outcome("x", 0.014444740466), False),
        (outcome("x", 1e9), outcome("x", 1e9 + 1.0), False),
        (outcome("x", None, "infeasible"), outcome("x", None, "infeasible"), False),
        (outcome("x", None, "infeasible"), outcome("x", 3.0), True),
        (outcome("x", None, "infeasible"), outcome("x", None, "inforunbd"), False),
        (outcome("x", None, "unbounded"), outcome("x", None, "inforunbd"), False),
        (outcome("x", 3.0), outcome("x", None, "inforunbd"), True),
        (outcome("x", None, "infeasible"), outcome("x", None, "unbounded"), True),
        (outcome("x", 9.0, "timelimit"), outcome("x", 3.0), False),
    ],
)
def test_only_finished_solves_can_disagree(a, b, differ):
    assert disagree(a, b) is differ
    assert disagree(b, a) is differ


def test_contradictions_are_named_once_per_instance():
    of_y = ("y", 1.0, "a")
    finished = [("x", 3.0, "first"), of_y, ("x", 4.0, "second"), ("x", 5.0, "third"), of_y]
    results = [outcome(instance, bound, method=method) for instance, bound, method in finished]
    (sentence,) = contradictions([outcome("x", 9.0, "timelimit"), *results])
    assert sentence == "x: first ended optimal with 3.0, second ended optimal with 4.0."
    assert contradictions([]) == ()


@pytest.mark.parametrize(
    ("factors", "solved", "finding"),
    [
        ([0.5], 12, "better"),
        ([0.6, 0.8], 18, "better"),
        ([1.1, 0.95], 12, "undecided"),
        ([0.2, 3.0], 51, "undecided"),
    ],
)
def test_an_evaluation_that_may_promote_stops_once_that_is_decided(
    monkeypatch, tmp_path, factors, solved, finding
):
    """A rule that is a little slower is given up early, one that is now fast and now slow when it is hopeless."""
    solving = []

    def invented(groups, *_args, **_options):
        numbered = enumerate(groups, start=sum(solving))
        solves = [(job.method.name, number) for number, group in numbered for job in group]
        solving.append(len(groups))
        of = [factors[k % len(factors)] if name == measured.RULE.name else 1.0 for name, k in solves]
        return [measured.solved(*solve, 10.0 * factor) for solve, factor in zip(solves, of, strict=True)]

    monkeypatch.setattr("bife_core.measure.evaluation.summary.run_solves", invented)
    instances = [Instance(f"m{k}", Path(f"m{k}.mps"), f"{k:016d}") for k in range(60)]
    config = EvaluationConfig(seeds=(0,), time_limit_s=100)
    pool = type("Pool", (), {"workers": 1})
    summary = evaluate([measured.RULE], instances, config, pool, Store(tmp_path), use=1, beat=())
    assert (sum(solving), summary.lead.finding, summary.planned) == (solved, finding, 60)
    assert f"After {solved} of up to 60 instances" in summary.conclusion
    assert (looks(10), looks(60)) == ([10], [12, 15, 18, 22, 27, 33, 41, 51, 60])
    assert solving == [end - begin for begin, end in pairwise([0, *looks(60)])][: len(solving)]
    evaluate([measured.RULE], instances, config, pool, Store(tmp_path))
    assert solving[-1] == 60, "one that promotes nothing solves all"
