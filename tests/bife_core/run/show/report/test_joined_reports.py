"""The table of a report, and reports of several evaluations."""

import re
from html import escape

import pytest

from bife_core.base.stats import holm
from bife_core.run.show import plots
from bife_core.run.show.report import Report, render_page, report_figures, report_latex, report_markdown
from tests.support.measured import LIMIT_S, summary

USUAL_S = [10.0 + number for number in range(8)]


def evaluation(setting, factor):
    """Return an evaluation of a rule that takes so many times as long as RPB."""
    made = summary([factor * seconds * (1 + 0.01 * k) for k, seconds in enumerate(USUAL_S)], list(USUAL_S))
    compared = tuple(one.model_copy(update={"setting": setting}) for one in made.comparisons)
    return made.model_copy(update={"setting": setting, "comparisons": compared})


@pytest.fixture
def joined():
    return Report(evaluations=(evaluation("CA test", 0.5), evaluation("SC_x test", 1.1)))


def test_the_table_has_a_row_for_each_method_and_marks_what_is_significant(joined):
    markdown, latex = report_markdown(joined), report_latex(joined)
    rows = [line.split(" | ") for line in markdown.splitlines() if line.startswith("| ")]
    assert rows[0][:3] == ["| Instances", "Method", "Solved"]
    methods = ("pseudocost_product", "RPB")
    wanted = [[f"| {name} test", method, "8 of 8"] for name in ("CA", "SC_x") for method in methods]
    assert [row[:3] for row in rows[1:]] == wanted
    assert rows[0][3:5] == ["Nodes", "Time"]
    assert [row[5] for row in rows[1:]] == ["**0.517**", "", "**1.138**", ""]
    assert rows[2][4] == "13.30 (1.20)"
    assert latex.count(r"\textbf{") == 2
    assert r"SC\_x test & pseudocost\_product & 8 of 8" in latex
    assert len({line.count(" & ") for line in latex.splitlines() if " & " in line}) == 1


def test_tests_are_adjusted_over_all_evaluations(joined):
    p_values = [one.p_value for one in (joined.evaluations[0].lead, joined.evaluations[1].lead)]
    assert [compared[0].p_adjusted for compared in joined.comparisons] == pytest.approx(holm(p_values))
    assert {compared[0].family for compared in joined.comparisons} == {2}


def test_the_page_leads_with_each_evaluation(joined):
    page = render_page(joined)
    assert page.count("<h1>") == 2
    assert "On CA test, pseudocost_product is faster than RPB" in joined.conclusion
    assert "On SC_x test, pseudocost_product is slower than RPB" in joined.conclusion
    assert [one.name for one in report_figures(joined)] == ["ratios", "instances", "instances-2"]


def test_another_metric_has_a_column_of_its_own():
    integral = summary([LIMIT_S] * 8, [LIMIT_S] * 8, "primal_dual_integral", integrals=([100.0] * 8, 400.0))
    joined = Report(evaluations=(evaluation("CA test", 0.5), integral))
    heads, _, *rows = report_markdown(joined).splitlines()
    assert heads.split(" | ")[3:6] == ["Nodes", "Time", "PDI"]
    assert rows[2].split(" | ")[5:7] == ["100.00 (1.00)", "**0.250**"]


AWKWARD = ("d$1$x$.mps", "\\g<9>", "p|pe`.mps", "[bold]x", "_u", "new\nline", "😀数", "a^b~c&<i>", "x" * 250)


@pytest.mark.filterwarnings("error")
def test_no_name_breaks_a_report(tmp_path):
    made, setting = summary([5.0] * 9, [9.0 + k for k in range(9)]), " ".join(AWKWARD[:-1])
    rows = tuple({**row, "instance": AWKWARD[int(row["digest"])]} for row in made.rows)
    names = {"setting": setting, "worst_instance": AWKWARD[0]}
    compared = tuple(comparison.model_copy(update=names) for comparison in made.comparisons)
    named = made.model_copy(update={"setting": setting, "rows": rows, "comparisons": compared})
    report = Report(evaluations=(named,))
    page = render_page(report)
    for name in AWKWARD[:-1]:
        assert f">{escape(' '.join(name.split()), quote=False)}</text>" in page.replace("> ", ">")
    for one in report_figures(report):
        plots.save(one.figure, tmp_path, one.name)
    markdown, latex = report_markdown(report), report_latex(report)
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if "|" in line}) == 1
    assert len({line.count(" & ") for line in latex.splitlines() if " & " in line}) == 1
