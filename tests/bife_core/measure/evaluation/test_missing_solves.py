"""Every solve counts: one that is missing or wrong is charged, counted, reported, and stands in the way of "better"."""

from dataclasses import replace

import pytest

from bife_core.base.errors import SolverError
from bife_core.measure.evaluation.metrics import method_table
from bife_core.measure.evaluation.summary import summarise
from bife_core.run.config import EvaluationConfig
from bife_core.run.show.report import Report, render_page, report_markdown
from tests.support.measured import BASELINE, LIMIT_S, METHODS, RULE, solved, summary


def test_a_rule_that_hangs_on_three_of_eight_models_is_not_faster_and_says_so():
    found = summary([1.0, 1.1, 1.2, 1.3, 1.4, None, None, None], [10.0] * 8)
    lead = found.lead
    assert (lead.instances, lead.solves, lead.missing, lead.proofs, lead.baseline_proofs) == (8, 8, 3, 5, 8)
    assert lead.finding == "undecided"
    assert "cannot count as better than RPB: 3 of its 8 solves are missing" in found.conclusion
    assert found.failures == tuple(f"m{k}, seed 0, pseudocost_product: the rule hung." for k in (5, 6, 7))
    table = method_table(found.frame)
    assert table.loc[RULE.name, ["missing", "solves"]].tolist() == [3, 8]
    report = Report(evaluations=(found,))
    assert "5 of 8, 3 missing" in report_markdown(report)
    assert "3 of its 8 solves are missing" in render_page(report)
    cautions = " ".join(report.cautions)
    assert "3 of 16 solves are missing or wrong" in cautions


def test_a_missing_solve_costs_the_limit_and_no_less_than_any_other_method():
    found = summary([None, None], [10.0, 170.0]).frame
    assert found[found["method"] == RULE.name]["cost_time"].tolist() == [LIMIT_S, 170.0]
    of_both = summary([2.0, None], [4.0, None])
    assert of_both.frame.shape == found.shape
    assert of_both == summary([2.0, None], [4.0, None]), "records compare, whatever was asked of them before"
    assert of_both.lead.ratio == pytest.approx((2.0 / 4.0) ** 0.5), "what both miss, neither is worse at"
    assert of_both.lead.instances == 2


@pytest.mark.parametrize(
    ("metric", "charge"),
    [("nodes", 100.0), ("lp_iterations", 50.0), ("gap", 1.0), ("primal_dual_integral", 100.0)],
)
def test_whatever_is_compared_a_missing_solve_is_the_worst(metric, charge):
    found = summary([1.0, None], [1.0, 2.0], metric)
    frame = found.frame
    assert frame[frame["missing"]][f"cost_{metric}"].tolist() == [charge]
    assert frame[frame["missing"]][metric].isna().all(), "nothing was measured"
    assert found.lead.ratio > 1
    assert found.lead.instances == 2


def test_a_missing_solve_is_the_worst_where_others_needed_no_node():
    rows = [solved(RULE.name, k, None) for k in range(8)]
    rows += [solved(BASELINE.name, k, 1.0, nodes=0) for k in range(8)]
    config = EvaluationConfig(seeds=(0,), time_limit_s=LIMIT_S, metric="nodes")
    assert summarise(rows, METHODS, BASELINE.name, config, "CA test").lead.ratio == pytest.approx(10.0)


def test_fewer_proofs_than_the_baseline_stand_in_the_way():
    found = summary([1.0] * 9 + [100.0], [10.0 + k for k in range(10)])
    assert found.lead.ratio < 1
    assert (found.lead.finding, found.lead.obstacle) == (
        "undecided",
        "it finishes 9 of 10 solves, the baseline 10",
    )
    assert "baseline 10. It took" in found.conclusion, "no solve is missing"
    assert summary([1.0] * 9 + [100.0], [10.0 + k for k in range(9)] + [100.0]).lead.finding == "better"


def test_a_wrong_proof_counts_as_missing():
    measured = [solved(RULE.name, k, 1.0, bound=8.0 if k == 3 else 7.0) for k in range(8)]
    measured += [solved(BASELINE.name, k, 10.0) for k in range(8)]
    found = summarise(measured, METHODS, BASELINE.name, EvaluationConfig(time_limit_s=LIMIT_S), "CA test")
    assert found.lead.missing == 1
    assert found.lead.finding == "undecided"
    assert "m3, seed 0, pseudocost_product: m3: relpscost ended optimal with 7.0" in found.failures[0]
    assert len(found.mismatches) == 1


def test_an_optimum_that_misses_a_row_is_said_and_proves_nothing():
    measured = [solved(RULE.name, k, 1.0, bound=8.0 if k == 3 else 7.0) for k in range(8)]
    measured += [solved(BASELINE.name, k, 10.0) for k in range(8)]
    measured[3] = replace(measured[3], result=measured[3].result.model_copy(update={"violation": "r by 1"}))
    found = summarise(measured, METHODS, BASELINE.name, EvaluationConfig(time_limit_s=LIMIT_S), "CA test")
    assert (found.lead.missing, found.mismatches, found.failures) == (0, (), ())
    assert [one.partition(" with")[0] for one in found.cautions] == ["m3: the best solution misses r by 1"]


def test_by_another_metric_the_time_is_known_too():
    slow = summary([20.0] * 8, [10.0 + k for k in range(8)], "nodes", rule_nodes=5)
    assert slow.lead.finding == "better"
    by_time = slow.by("time")
    assert (by_time.metric, by_time.finding) == ("time", "worse")
    same = summary([20.0] * 8, [10.0] * 8)
    assert same.judged == same.lead


def test_a_rule_that_never_ends_is_measured_all_the_same_but_not_without_a_baseline():
    assert summary([None] * 8, [1.0] * 8).lead.ratio == pytest.approx(LIMIT_S)
    with pytest.raises(SolverError, match=r"No solve of relpscost could be finished\. the rule hung"):
        summary([1.0] * 8, [None] * 8)
