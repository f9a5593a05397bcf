"""The page: what it says, that it stands alone, and that what is not from us cannot run in it."""

import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from markupsafe import escape

from bife_core.base.stats import confidence_of
from bife_core.measure.evaluation.comparison import headline, statement
from bife_core.measure.evaluation.summary import evaluate
from bife_core.run.config import EvaluationConfig
from bife_core.run.show.report import Report, SearchRecord, Story, render_page, report_figures
from bife_core.search import CostPoint, Sample, SearchCost
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.emphases import of_emphases
from bife_core.store import Store
from bife_core.tuning.ablation import Ablation, Step

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Checks that elements are closed in order, and keeps what a page refers to."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.references = []
        self.ids = []
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action") and value:
                self.references.append(value)
            if name == "id" and value:
                self.ids.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def summary(knapsacks, pool, tmp_path_factory):
    rules, store = [load_method("pseudocost_product")], Store(tmp_path_factory.mktemp("solves"))
    config = EvaluationConfig(instances=2, seeds=(0,), time_limit_s=60)
    return evaluate(rules, knapsacks[:2], config, pool, store, setting="CA tiny")


@pytest.fixture(scope="module")
def story():
    initial = {"generation": 0, "operator": "i1"}
    samples = [Sample(id=f"g00-c0{k}", f_lf=0.5 + k / 10, f_hf=-2.0 - k, **initial) for k in range(3)]
    parents = ("g00-c00", "g00-c01")
    child = Sample(id="g01-c00", generation=1, operator="e1", parents=parents, f_lf=0.55, f_hf=-1.5)
    point = CostPoint(solver_s=4.0, work_s=5.0, samples=3, calls=3, f_hf=-1.5, sample="g01-c00")
    spent = {"tokens": 9000, "usd": Decimal("0.3"), "collection_s": 1.0, "f_hf_s": 3.0}
    cost = SearchCost(search="bife", samples=4, solved=2, curve=(point,), **spent)
    search = SearchRecord(
        name="bife", best="g01-c00", samples=(*samples, child), cost=cost, chosen="By lot.", origin="fitted"
    )
    brought = [
        Step(group="separating", settings="separating off", alone=3.0, factor=0.4, ratio=0.4, note=""),
        Step(group="LP", settings="lp/pricing = d", alone=None, factor=None, ratio=None, note="no budget"),
        Step(group="heuristics", settings="heuristics off", alone=1.4, factor=0.7, ratio=0.28, note=""),
    ]
    ablation = Ablation(steps=tuple(brought), instances=6, cost="time")
    notes = ("From <script>alert(1)</script>.",)
    tunings = {"tuned": ((1.0, 1.0, 1.0), (2.0, None, 1.0), (3.0, 0.5, 0.5))}
    return Story(searches=(search,), notes=notes, ablation=ablation, tunings=tunings)


@pytest.fixture(scope="module")
def page(summary, story):
    return render_page(Report(evaluations=(summary,), stories=(story,)))


def test_the_page_is_well_formed_and_stands_alone(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert all(reference.startswith("#") for reference in outline.references)
    assert {reference[1:] for reference in outline.references} <= set(outline.ids)
    assert "script" not in outline.tags
    assert not re.search(r"@import|url\((?!#)", page)
    assert outline.tags >= {"h1", "table", "figure", "svg", "pre"}


def test_luck_of_the_tree_is_said_beside_the_interval(summary):
    facts = {"repeats": 5, "spread": 1.3, "alone_low": 0.4, "alone_high": 0.5, "luck": 0.2}
    lead = summary.lead.model_copy(update=facts)
    repeated = summary.model_copy(update={"comparisons": (lead, *summary.comparisons[1:])})
    assert "luck of the tree may be up to 20 % of the difference" in lead.scatter
    assert lead.scatter in repeated.conclusion
    key = re.search(r'<div class="keys">(.*?)</p>', render_page(Report(evaluations=(repeated,))), re.DOTALL)
    assert key is not None
    assert lead.scatter in key[1]


def test_it_leads_with_the_conclusion_and_says_how_it_was_measured(page, summary):
    heading = re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)
    assert heading is not None
    assert heading[1] == headline(summary.lead)
    assert f'">{summary.lead.ratio:.3f}</b>' in page
    assert page.count(str(escape(statement(summary.lead)))) == 1
    assert summary.machine is not None
    for text in (
        summary.machine.cpu,
        summary.machine.lp_solver,
        summary.machine.versions["scip"],
        "From &lt;script&gt;",
        "SCIP seeds 0",
        "pseudocost_product",
        "sampled 4 rules in 9,000 tokens ($0.3) and 4 s of work, 4 s of it in the solver; for each of the 2 "
        "promoted to F_HF 4,500 tokens ($0.15) and 2 s of work, 2 s of it in the solver. By lot.",
        "Where the rules of bife came from: fitted.",
        "<td>But for what a method sets, solves ran under SCIP default settings.</td>",
    ):
        assert text in page


def test_a_configuration_stands_there_as_settings_and_source(summary, story):
    rule = load_method("pseudocost_product")
    methods = summary.methods | {rule.name: Configuration(params={"lp/pricing": "d"}, branching=rule)}
    whole = summary.model_copy(update={"methods": methods})
    page = render_page(Report(evaluations=(whole,), stories=(story,)), ())
    assert f"<pre>{escape(rule.text)}</pre><pre>lp/pricing = d\n</pre>" in page
    assert "parameters</summary>" not in page


def test_predefined_settings_stand_there_by_name_and_one_by_one_on_demand(summary, story):
    method = Configuration(params=of_emphases((("separating", "off"),)), on_demand=("rows/c_minus_b_le_0",))
    whole = summary.model_copy(update={"methods": summary.methods | {"tuned": method}})
    page = render_page(Report(evaluations=(whole,), stories=(story,)), ())
    before, _, after = page.partition("<details><summary>All 35 parameters</summary><pre>")
    assert after.startswith(method.settings)
    assert "# separating off: 35 parameters\n" in before
    assert "# on demand: rows/c_minus_b_le_0" in before
    assert "sepafreq" not in before


def test_what_brought_it_is_a_table_and_a_figure_where_it_was_measured(page, summary):
    cells = f'<td class="words">lp/pricing = d</td>{3 * "<td>-</td>"}<td>no budget</td>'
    assert f"<tr><th>LP</th>{cells}</tr>" in page
    assert "Ratio to SCIP default settings by CPU time, as groups of settings are added." in page
    assert "What brought it" not in render_page(Report(evaluations=(summary,)))


def test_it_is_made_for_phones_and_for_the_dark(page):
    for text in ('name="viewport"', "prefers-color-scheme: dark", "var(--ink, #000000)"):
        assert text in page


def test_all_figures_are_there(summary, story):
    names = [figure.name for figure in report_figures(Report(evaluations=(summary,), stories=(story,)))]
    assert names == ["ratios", "instances", "ablation", "trials", "fidelities"]


def test_no_use_of_a_test_set_gives_an_interval_of_100_percent(summary):
    strict = summary.comparisons[0].model_copy(update={"confidence": confidence_of(9, 0.95)})
    report = Report(evaluations=(summary.model_copy(update={"comparisons": (strict,), "use": 9}),))
    page = render_page(report)
    assert not re.search(r"\b100 % (bootstrap )?interval", page)
    assert "99.9931 % bootstrap interval" in page
    assert "99.9931 % interval" in report.conclusion
    assert "are at 99.9931 %, so that all uses together keep to 95 %." in report.cautions[-1]


def test_what_limits_a_result_is_said(summary):
    rows = [dict(row) for row in summary.rows]
    slow = {"wall_s": 9.0, "cpu_s": 1.0}
    changes = (slow | {"status": "timelimit"}, slow, slow | {"undecided": 2}, {"failure": "it died"})
    for row, change in zip(rows, changes, strict=True):
        row |= change
    assert summary.machine is not None
    crowded = {"rows": tuple(rows), "workers": summary.machine.physical_cores + 1}
    notes = {"mismatches": ("i1: 3 or 4.",), "cautions": ("i2: it misses r.",)}
    cautions = " ".join(Report(evaluations=(summary.model_copy(update=crowded | notes),)).cautions)
    for text in (
        "physical cores",
        "times its CPU time",
        "1 of 4 solves ended without a proof and count with the limit of 60 s",
        "In 1 solve a rule fell back to SCIP's default",
        f"{rows[3]['instance']}, seed 0, {rows[3]['method']}: it died",
        "1 of 4 solves are missing or wrong",
        "which is a defect: i1: 3 or 4.",
        "i2: it misses r.",
    ):
        assert text in cautions
