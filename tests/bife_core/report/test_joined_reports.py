"""Reports of several evaluations: what stands in one row or column was measured together, by one method."""

from __future__ import annotations

from bife_core.evaluation.summary import EvaluationSummary
from bife_core.methods.loading import load_method
from bife_core.report import Report, comparison_markdown, paper_tables, render_page, report_figures
from bife_core.report.tables import comparison_latex
from tests.support.measured import LIMIT_S, RULE, summary

USUAL_S = [10.0 + number for number in range(8)]


def of_rule(name: str, label: str, factor: float, slower: float = 1.0) -> EvaluationSummary:
    """Return an evaluation of a rule under a label, on a day on which all took so many times as long."""
    baseline_s = [slower * seconds for seconds in USUAL_S]
    made = summary([factor * seconds for seconds in baseline_s], baseline_s)
    methods = {label: load_method(name), "relpscost": made.methods["relpscost"]}
    return made.model_copy(
        update={
            "rule": label,
            "methods": methods,
            "rows": tuple(
                row | {"method": label if row["method"] == RULE.name else row["method"]} for row in made.rows
            ),
            "comparisons": tuple(c.model_copy(update={"method": label}) for c in made.comparisons),
        }
    )


def cells(*evaluations: EvaluationSummary) -> dict[tuple[str, str], str]:
    """Return the mean times of a joint report's table, by benchmark and method."""
    (table,) = paper_tables(Report(evaluations=evaluations).frame)
    return {
        (benchmark, method): row[2 * number + 1].text().split()[0]
        for method, row in table.rows.items()
        for number, benchmark in enumerate(table.benchmarks)
        if row[2 * number + 1].mean == row[2 * number + 1].mean
    }


def test_two_rules_of_one_name_are_two_rows() -> None:
    first = of_rule("pseudocost_product", "g01-c00", 0.5)
    second = of_rule("most_fractional", "g01-c00", 2.0)
    found = cells(first, second)
    labels = [f"g01-c00 ({one.methods['g01-c00'].identity[:6]})" for one in (first, second)]
    assert found == {("CA", labels[0]): "6.65", ("CA", labels[1]): "26.60", ("CA", "RPB"): "13.30"}
    report = Report(evaluations=(first, second))
    assert [c.method for c in report.leading] == labels
    assert [label for one in report.evaluations for label in one.methods] == [
        labels[0],
        "relpscost",
        labels[1],
        "relpscost",
    ]


def test_a_slower_day_is_a_column_of_its_own_whatever_comes_first() -> None:
    fast = of_rule("pseudocost_product", "mine", 0.5)
    slow = of_rule("most_fractional", "yours", 1.2, slower=2.0)
    assert cells(fast, slow) == cells(slow, fast)
    assert cells(fast, slow) == {
        ("CA for mine", "mine"): "6.65",
        ("CA for mine", "RPB"): "13.30",
        ("CA for yours", "yours"): "31.92",
        ("CA for yours", "RPB"): "26.60",
    }


def test_one_rule_on_two_days_has_two_columns() -> None:
    days = [of_rule("pseudocost_product", "mine", 0.5, slower) for slower in (1.0, 2.0)]
    report = Report(evaluations=tuple(days))
    assert {benchmark for benchmark, _ in cells(*days)} == {"CA for mine", "CA for mine 2"}
    assert [c.setting for c in report.comparisons] == ["CA for mine test", "CA for mine 2 test"]
    assert Report(evaluations=report.evaluations) == report


def test_each_rule_on_a_setting_has_a_figure_of_its_own() -> None:
    two = of_rule("pseudocost_product", "mine", 0.5), of_rule("most_fractional", "yours", 2.0)
    drawn = report_figures(Report(evaluations=two))
    assert len({one.name for one in drawn}) == len(drawn)
    titles = [one.title for one in drawn if one.name.startswith("instances-")]
    assert titles == ["Instance by instance, CA test, mine", "Instance by instance, CA test, yours"]
    alone = [one.name for one in report_figures(Report(evaluations=(two[0], two[0])))]
    assert alone.count("instances-ca-test") == 1


def test_each_metric_has_a_table_and_is_named_beside_its_ratios() -> None:
    by_time = of_rule("pseudocost_product", "mine", 0.5)
    made = summary([LIMIT_S] * 8, [LIMIT_S] * 8, "primal_dual_integral", integrals=([1.0] * 8, 4.0))
    by_integral = made.model_copy(
        update={
            "rows": tuple(row | {"setting": "BIP test"} for row in made.rows),
            "comparisons": tuple(c.model_copy(update={"setting": "BIP test"}) for c in made.comparisons),
        }
    )
    report = Report(evaluations=(by_time, by_integral))
    shown = [(table.benchmarks, table.columns, list(table.rows)) for table in report.tables]
    assert shown == [
        (("CA",), ("Nodes", "Time"), ["mine", "RPB"]),
        (("BIP",), ("PDI", "Gap"), ["pseudocost_product", "RPB"]),
    ]
    assert "| BIP test | pseudocost_product | primal-dual integral | 0.250 |" in comparison_markdown(
        report.comparisons
    )
    latex = comparison_latex(report.comparisons)
    assert "geometric means of CPU time and primal-dual integral;" in latex
    assert r"BIP test & pseudocost\_product & primal-dual integral & 0.250 &" in latex
    assert r"\begin{tabular}{lllccc}" in latex
    page = render_page(report)
    assert '<td class="words">primal-dual integral</td><td>0.250</td>' in page
    assert page.count(" by method.</b>") == 2
    assert "Metric" not in comparison_markdown(by_time.comparisons) + comparison_latex(by_time.comparisons)


def test_evaluations_that_share_the_baselines_solves_share_a_column() -> None:
    two = of_rule("pseudocost_product", "mine", 0.5), of_rule("most_fractional", "yours", 2.0)
    assert {benchmark for benchmark, _ in cells(*two)} == {"CA"}
    third = of_rule("paper_ca", "theirs", 1.2, slower=2.0)
    assert {benchmark for benchmark, _ in cells(*two, third)} == {"CA for mine and yours", "CA for theirs"}
