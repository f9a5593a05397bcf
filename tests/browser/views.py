"""The main views of both servers: where each is, and what a reader must find there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bife_tasks.tracking.mlflow_runs import page
from bife_tasks.tracking.views import view_place
from tests.browser.showing import CHALLENGED, Shown

if TYPE_CHECKING:
    from playwright.sync_api import Page

BENCHMARK = "combinatorial-auction"
"""As the keys of Prefect's artifacts spell it."""


@dataclass(frozen=True)
class View:
    """A page: the name of its picture, its address, and the texts that must be on it.

    `prepare` is what a reader has to do before they see it, `calm_ms` the time for what moves to come to rest. One that
    is not `pictured` has its picture from elsewhere.
    """

    name: str
    address: Callable[[Shown], str]
    texts: tuple[str, ...]
    prepare: Callable[[Page], None] = lambda page: None
    calm_ms: int = 6_000
    pictured: bool = True

    def open(self, page, shown):
        """Show the view as after a link from elsewhere."""
        page.goto("about:blank")
        page.goto(self.address(shown))
        self.prepare(page)


def _prefect(path):
    return lambda shown: f"{shown.up.prefect}/v2/{path}"


def form_of(deployment):
    """Return what tells the address of the form a deployment's runs are started with."""
    return lambda shown: f"{shown.up.prefect}/v2/deployments/deployment/{shown.deployment(deployment)}/run"


def _artifact(kind):
    return lambda shown: f"{shown.up.prefect}/v2/artifacts/artifact/{shown.artifact(f'{kind}-{BENCHMARK}')}"


def _ranking(shown):
    """The saved view of the search by the grammar, as runs link to it."""
    number, run = shown.experiment("search"), shown.search_run("offline")
    return page(f"experiments/{number}/runs", shown.up.mlflow, viewStateShareKey=run)


def _first(stage):
    """The view of all runs of a stage that the descriptions of MLflow's experiments lead to."""
    return lambda shown: shown.pipeline and f"{shown.up.mlflow}/{view_place(shown.experiment(stage))}"


def _report(shown):
    """The file a comparison left, the page of `bife report`."""
    _ = shown.promotion
    reports = (shown.up.home.root / "runs").glob("evaluation-*/report.html")
    return next(page for page in reports if "paper_ca" in page.read_text(encoding="utf-8")).as_uri()


def _search(path):
    return lambda shown: page(
        f"experiments/{shown.experiment('search')}/runs/{shown.search_run('offline')}{path}", shown.up.mlflow
    )


def _picture(page):
    """Wait for a picture that the page holds itself."""
    picture = page.get_by_role("img", name="The curve")
    picture.wait_for(state="visible")
    assert picture.evaluate("picture => picture.naturalWidth") > 100


def _tab(name):
    return lambda page: page.get_by_role("tab", name=name).click()


def resume(page):
    """Open the form of a run that waits for a person, which is in the menu of its page."""
    page.get_by_role("button", name="Open menu").first.click()
    page.get_by_role("menuitem", name="Resume").click()


def fill_in(page, description, value):
    """Put a value into the field of a form that has this description."""
    field(page, description).fill(value)


def field(page, description):
    """Return the field of a form that has this description."""
    following = "xpath=following::*[self::input or self::textarea][1]"
    return page.get_by_text(description).filter(visible=True).first.locator(following)


def choose(page, control, option):
    """Click on a list of a form, and then on one of its options."""
    control.click()
    # Prefect's list may lie outside the window for good, where its form moved while it opened.
    page.get_by_role("option", name=option, exact=True).dispatch_event("click")


def send(page, button, address):
    """Press a button; Prefect must take what it sends."""
    with page.expect_response(address) as reply:
        button.click()
    assert reply.value.ok


def refuse_zero_samples(page):
    """Ask for a search without a rule, and press "Submit"."""
    fill_in(page, "Rules to sample in all.", "0")
    page.get_by_role("button", name="Submit").click()


VIEWS = (
    View(
        "report", _report, ("paper_ca", "RPB", "95.5 % interval"), pictured=False
    ),  # python -m bench.picture
    View("prefect-deployments", _prefect("deployments"), ("collection", "pipeline", "rollback", "watch")),
    View(
        "prefect-overview",
        lambda shown: shown.pipeline and shown.overview(shown.promotion["id"]),
        ("Start", "Schedule", "Families", "Waiting for a person", "Model API", "Disk"),
    ),
    View(
        "prefect-form",
        form_of("pipeline"),
        (
            "What is solved: a family of generated instances, or a folder of your own",
            "Rules to sample in all.",
            "Any other setting; what is left out is the preset's.",
            "As the preset",
        ),
    ),
    View(
        "prefect-refused",
        form_of("pipeline"),
        ("Rules to sample in all.",),  # the refusal itself is the browser's, and no part of the page
        refuse_zero_samples,
        calm_ms=500,  # it is shown for some seconds
    ),
    View(
        "prefect-tasks",
        lambda shown: shown.run_page(shown.search),
        ("search combinatorial_auction", "generation 4"),
        _tab("Task Runs"),
    ),
    View(
        "prefect-run",
        lambda shown: shown.run_page(shown.pipeline),
        (
            "Completed",
            f"population-{BENCHMARK}",
            f"anytime-{BENCHMARK}",
            f"progress-{BENCHMARK}",
            f"pipeline-{BENCHMARK}",
            "samples 24/24",
        ),
        _tab("Artifacts"),
    ),
    View(
        "prefect-population",
        _artifact("population"),
        ("Rules after generation", "best first", "operator", "thought", "g00-c0"),
    ),
    View(
        "prefect-anytime",
        _artifact("anytime"),
        ("Best F_HF so far over CPU seconds in the solver.", "CPU seconds", "g00-c0"),
        _picture,
    ),
    View(
        "prefect-conclusion",
        _artifact("pipeline"),
        (
            "RPB",
            "Registered as models:/bife-combinatorial_auction-tiny/1, challenger.",
            "all rules, best first",
            "candidate_variable_score",
        ),
    ),
    View(
        "prefect-approval",
        lambda shown: shown.run_page(shown.promotion),
        (
            "passes the statistical gate.",
            "Source, evidence and history",
            "Approve what is proposed above",
            "Kept in the registry beside the rule.",
        ),
        resume,
    ),
    *(
        View(f"mlflow-first-{stage}", _first(stage), texts, pictured=False)
        for stage, texts in {
            "search": ("Searches for branching rules", "best_f_hf", "rpb_f_hf", "conclusion"),
            "evaluation": ("Comparisons with a baseline", "ratio_low", "p_value"),
            "tuning": ("Tunings of SCIP's settings", "Tunings, newest first"),
            "collection": ("Decisions of strong branching", "decisions", "candidates"),
        }.items()
    ),
    View("mlflow-samples", _ranking, ("f_hf", "operator", "generation", "g00-c01", "24 matching runs")),
    View("mlflow-search", _search("/model-metrics"), ("best_f_hf", "best_f_lf", "Model metrics")),
    View(
        "mlflow-table",
        _search("/artifacts/samples.json"),
        ("samples.json", "View as table", "g00-c0", "best_rule.py", "fidelities.png"),
    ),
    View(
        "mlflow-traces",
        lambda shown: (
            shown.calling and page(f"experiments/{shown.experiment('search')}/traces", shown.up.mlflow)
        ),
        ("g00-c00.1: i1 in generation 0", "1200"),
    ),
    View(
        "mlflow-model",
        lambda shown: shown.promotion and page(f"models/{CHALLENGED}/versions/1", shown.up.mlflow),
        ("challenger", "combinatorial_auction, size test", "below 1 is faster", "candidate_variable_score"),
    ),
)
"""All views, in the order a reader of the documentation meets them; one entry more shows one more."""
