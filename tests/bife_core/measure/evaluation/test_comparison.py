"""Comparisons, conclusions and tables against worked examples, and against what the paper prints."""

import math

import numpy as np
import pytest

from bife_core.base.stats import holm
from bife_core.measure.evaluation.comparison import adjusted, compare_methods, headline, statement
from bife_core.measure.evaluation.metrics import method_table, solve_frame
from bife_core.run.show.report.tables import mean_text


def row(instance, method, cpu_s, **more):
    known = {"seed": 0, "status": "optimal", "nodes": 10, "wall_s": cpu_s, "lp_iterations": 5, "gap": 0.0}
    known |= {"primal_dual_integral": 1.0, "fair_nodes": 10, "branching_s": 0.1 * cpu_s}
    return {"instance": instance, "digest": instance, "method": method, "cpu_s": cpu_s} | (known | more)


def rows(ratios, method="rule"):
    made = []
    for k, ratio in enumerate(ratios):
        made += [row(f"i{k}", method, ratio * (k + 1.0)), row(f"i{k}", "relpscost", k + 1.0)]
    return made


def compared(ratios):
    (found,) = compare_methods(solve_frame(rows(ratios)), ("rule",), "relpscost", setting="CA test")
    return found


def test_a_ratio_below_one_on_enough_instances_is_better():
    ratios = [0.5, 0.6, 0.7, 0.55, 0.65, 0.62, 0.58, 0.52]
    found = compared(ratios)
    assert found.ratio == pytest.approx(math.exp(np.mean(np.log(ratios))))
    assert (found.wins, found.ties, found.losses, found.instances) == (8, 0, 0, 8)
    assert found.p_value == pytest.approx(2 / 2**8)
    assert found.finding == "better"
    text = "On CA test, rule is faster than RPB: it takes 41 % less CPU time (ratio 0."
    assert statement(found).startswith(text)
    assert compared([1 / ratio for ratio in ratios]).finding == "worse"


def test_too_few_instances_leave_it_undecided_however_clear_they_are():
    found = compared([0.1, 0.11, 0.12, 0.13, 0.14])
    assert found.ci_high is not None
    assert found.ci_high < 0.2
    assert found.p_value == pytest.approx(2 / 2**5)
    assert found.finding == "undecided"
    text = "no difference between rule and RPB is significant, since interval and test must agree: rule took"
    assert text in statement(found)


def test_a_headline_says_it_in_one_short_line():
    long = {"method": "a rule that somebody called at length", "setting": "a folder that has a long name too"}
    for ratios, words in (([0.5] * 12, "takes 50 % less CPU time than RPB"), ([0.5], "do not differ")):
        one = compared(ratios)
        assert words in headline(one)
        assert len(headline(one.model_copy(update=long))) <= 90
    assert "cannot count" in headline(compared([0.5] * 12).model_copy(update={"missing": 1}))
    assert headline(one.model_copy(update={"instances": 0})).startswith("No method branches")


def test_instances_of_one_group_count_as_one():
    """A rule that is fast on some days and slow on others is compared by days, however many instances a day gave."""
    of_days = [0.5, 0.7, 0.6, 0.9, 0.8, 1.1, 0.75]
    made = rows([ratio * noise for ratio in of_days for noise in (0.8, 1.25, 1.0)])
    for number, entry in enumerate(made):
        entry["group"] = f"day {number // 6}"
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost", setting="OTS small")
    by_day = compared(of_days)
    assert (found.instances, found.groups, found.solves) == (21, 7, 21)
    assert found.p_value == by_day.p_value > compared([e["cpu_s"] for e in made[::2]]).p_value
    assert (found.ratio, found.ci_low) == pytest.approx((by_day.ratio, by_day.ci_low))
    assert (found.wins, found.losses) == (6, 1)
    assert "21 instances in 7 groups" in statement(found)
    assert method_table(solve_frame(made))["wins"].to_dict() == {"rule": 6, "relpscost": 1}


def test_an_instance_without_branching_is_left_out_of_its_group_and_a_group_of_such_altogether():
    made = rows([0.5, 0.6, 0.7])
    for entry, group in zip(made, "xxxxyy", strict=True):
        entry |= {"group": group, "nodes": 10 if entry["instance"] == "i0" else 1}
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    assert (found.instances, found.groups, found.unbranched, found.ratio) == (1, 1, 2, pytest.approx(0.5))


def test_only_solves_that_both_have_count_and_seeds_are_collapsed():
    made = [row("a", "rule", 1.0), row("a", "rule", 4.0, seed=1), row("a", "relpscost", 2.0)]
    made += [row("a", "relpscost", 8.0, seed=1), row("b", "rule", 3.0), row("b", "rule", 900.0, seed=1)]
    frame = solve_frame([*made, row("b", "relpscost", 3.0)])
    (found,) = compare_methods(frame, ("rule",), "relpscost")
    assert (found.instances, found.solves, found.wins, found.ties) == (2, 3, 1, 1)
    assert found.ratio == pytest.approx(math.sqrt(0.5))
    assert compare_methods(frame, ("absent",), "relpscost") == ()


def test_repeats_say_how_much_of_a_ratio_may_be_luck_of_the_tree():
    logs = {"a": (-0.9, -1.1), "b": (-1.2, -0.6), "c": (-0.8, -1.4)}  # seeds 0 and 1
    made = [
        row(name, method, 10 * math.exp(log if method == "rule" else 0.0), seed=seed)
        for name, pair in logs.items()
        for seed, log in enumerate(pair)
        for method in ("rule", "relpscost")
    ]
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    deviation = math.sqrt((0.02 + 0.18 + 0.18) / 3)
    assert found.repeats == 2
    assert found.spread == pytest.approx(math.exp(deviation))
    assert (found.alone_low, found.alone_high) == pytest.approx((math.exp(-3.1 / 3), math.exp(-2.9 / 3)))
    assert found.luck == pytest.approx(3.182446 * deviation / math.sqrt(6) / 1.0)  # t of 3 degrees of freedom
    assert found.scatter == (
        "Repeats of an instance, 2 seeds that permute its rows and columns, scatter by a factor of 1.43; one seed "
        "alone gives a ratio of 0.356 to 0.380, and luck of the tree may be up to 46 % of the difference (95 %)."
    )
    for entry in made:
        entry["group"] = "all" if entry["instance"] in "ab" else "c"
    (grouped,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    error = deviation * math.sqrt(4 / 8**2 + 2 / 4**2)
    assert (grouped.spread, grouped.repeats) == (pytest.approx(found.spread), 2)
    assert grouped.luck == pytest.approx(3.182446 * error / ((0.95 + 1.1) / 2))


@pytest.mark.parametrize("group", ["", "x"])
def test_without_repeats_nothing_is_said_of_luck(group):
    made = [entry | ({"group": group} if group else {}) for entry in rows([0.5, 0.6, 0.7])]
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    assert (found.repeats, found.spread, found.luck, found.scatter) == (1, None, None, "")


def test_a_difference_as_large_as_its_scatter_may_be_luck_alone():
    made = [row("a", "rule", cost, seed=seed) for seed, cost in enumerate((5.0, 21.0))]
    made += [row("a", "relpscost", 10.0, seed=seed) for seed in (0, 1)]
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    assert found.luck == 1.0
    assert "luck of the tree may be all of the difference" in found.scatter


def test_time_is_nodes_times_time_a_node():
    made = rows([0.5, 0.8, 0.6])
    for entry in made:
        entry["nodes"] = 40 if entry["method"] == "rule" else 0  # none counts as one
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost")
    assert found.node_ratio == pytest.approx(40.0)
    assert found.node_ratio * found.per_node_ratio == pytest.approx(found.ratio)


def test_p_values_are_adjusted_over_all_comparisons_together():
    first, second = compared([0.5, 0.6, 0.7, 0.55, 0.65, 0.62]), compared([0.9, 1.2, 0.8, 1.1, 0.7, 1.3])
    both = adjusted([first, second])
    assert [c.p_adjusted for c in both] == pytest.approx(holm([first.p_value, second.p_value]))
    assert {c.family for c in both} == {2}


def test_the_comparison_that_decides_is_not_adjusted_for_others_beside_it():
    made = rows([0.5, 0.6, 0.7, 0.55, 0.65, 0.62])
    others = [entry | {"method": "tuned SCIP"} for entry in made if entry["method"] == "rule"]
    both = solve_frame([*made, *others])
    decides, beside = compare_methods(both, ("rule", "tuned SCIP"), "relpscost", primary=True)
    assert (decides.p_adjusted, decides.finding) == (decides.p_value, "better")
    assert (beside.p_adjusted, beside.family) == (beside.p_value, 1)
    assert {one.finding for one in compare_methods(both, ("rule", "tuned SCIP"), "relpscost")} == {
        "undecided"
    }


def test_a_method_is_summed_up_over_its_solves():
    made = [row("a", "rule", 1.0, nodes=0), row("b", "rule", 4.0, nodes=4, status="timelimit", gap=None)]
    made += [row("a", "relpscost", 1.0), row("b", "relpscost", 2.0)]
    table = method_table(solve_frame(made))
    rule = table.loc["rule"]
    assert (rule["solves"], rule["solved"], rule["wins"]) == (2, 1, 1)
    assert table.loc["relpscost"]["wins"] == 2, "equals share a win"
    assert rule["time"] == pytest.approx(2.0)
    assert rule["time_spread"] == pytest.approx(math.exp(math.log(4) / math.sqrt(2)))
    assert rule["nodes"] == pytest.approx(2.0)
    assert rule["inference_share"] == pytest.approx(0.1)
    assert rule["gap"] == pytest.approx(1e-2), "an unknown gap is the largest"


def test_what_was_recorded_before_a_counter_existed_shows_none():
    made = [row("a", "rule", 1.0), row("a", "relpscost", 2.0, failure="killed")]
    for entry in made:
        del entry["fair_nodes"]
    table = method_table(solve_frame(made))
    shown = table[["fair_nodes", "fair_nodes_spread"]].to_numpy()
    assert [mean_text(*pair) for pair in shown] == ["-"] * 2
    assert table["nodes"].notna().all()


def test_a_solve_without_a_proof_costs_the_limit_at_least():
    made = [row("a", "rule", 1.0, status="memlimit"), row("a", "relpscost", 70.0)]
    made += [row("b", "rule", 101.0, status="timelimit"), row("b", "relpscost", 70.0)]
    frame = solve_frame(made, time_limit_s=100.0)
    of_rule = frame[frame["method"] == "rule"]
    assert of_rule["cost_time"].tolist() == [100.0, 101.0]
    assert of_rule["cpu_s"].tolist() == [1.0, 101.0], "as measured"
    assert frame[frame["method"] == "relpscost"]["cost_time"].tolist() == [70.0, 70.0]
