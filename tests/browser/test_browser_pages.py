"""Both servers' pages as a person sees and uses them, in Chromium; `make browser` runs these tests."""

import os
import re

import pytest
from PIL import Image

from bench.pictures import IMAGES, taken
from bife_tasks.tracking import mlflow_runs
from tests.browser.chromium import NoBrowserError, chromium, missing
from tests.browser.views import VIEWS, View, field, fill_in, form_of, refuse_zero_samples, send

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

VIEW = {view.name: view for view in VIEWS}


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_shows_what_a_reader_needs(page, shown, view):
    view.open(page, shown)
    assert missing(page, view.texts) == []
    if view.pictured and os.environ.get("BIFE_SCREENSHOTS"):  # make screenshots
        picture = IMAGES / f"{view.name}.png"
        page.wait_for_timeout(view.calm_ms)
        page.screenshot(path=picture)
        with Image.open(picture) as image:
            image.convert("RGB").quantize(256).save(picture, optimize=True)  # a third of the bytes
        assert picture.stat().st_size < 150_000
        taken(view.name)


def test_the_best_rule_is_row_one(page, shown):
    best = shown.search["state"]["message"].partition(" ")[0]
    VIEW["mlflow-samples"].open(page, shown)
    assert missing(page, [best]) == []
    rows = page.get_by_text(re.compile(r"^g\d\d-c\d\d$")).all_inner_texts()
    assert rows[0] == best
    VIEW["prefect-population"].open(page, shown)
    assert missing(page, [best]) == []
    assert page.get_by_text(re.compile(r"^g\d\d-c\d\d$")).all_inner_texts()[0] == best


def test_a_value_out_of_bounds_starts_no_run(page, shown):
    before = len(shown.up.page.runs_of("pipeline"))
    VIEW["prefect-form"].open(page, shown)
    refuse_zero_samples(page)
    reason = field(page, "Rules to sample in all.").evaluate("input => input.validationMessage")
    assert reason == "Value must be greater than or equal to 1."
    assert len(shown.up.page.runs_of("pipeline")) == before


def test_a_run_starts_with_what_a_person_changed_in_the_form(page, shown):
    before = {run["id"] for run in shown.up.page.runs_of("collection")}
    View("collection-form", form_of("collection"), ()).open(page, shown)
    fill_in(page, "A size of the family", "tiny")
    page.get_by_role("tab", name="Own").click()
    fill_in(page, "Decisions to record in all.", "25")
    send(page, page.get_by_role("button", name="Submit"), "**/create_flow_run")
    assert missing(page, ["scheduled to start now"]) == []
    (started,) = [run for run in shown.up.page.runs_of("collection") if run["id"] not in before]
    ended = shown.up.page.end_of(started["id"])
    config = ended["parameters"]["config"]
    only = {"decisions": 25}
    assert (config["preset"], config["size"], config["advanced"]["collection"]) == ("quick", "tiny", only)
    assert ended["state_type"] == "COMPLETED", ended["state"]
    assert "25 decisions" in ended["state"]["message"]


def test_the_printed_address_opens_the_second_version_of_prefects_pages(page, shown):
    page.goto("about:blank")
    page.goto(shown.up.printed["Prefect"])
    page.wait_for_url(f"{shown.up.prefect}/v2/**")
    page.goto("about:blank")
    page.goto(mlflow_runs.page("experiments", shown.up.mlflow))
    assert missing(page, ["Model registry", "bife-search"]) == []


def test_a_run_in_mlflow_leads_to_its_run_in_prefect(page, shown):
    found = shown.up.tracked("GET", "runs/get", run_id=shown.search_run("offline"))["run"]["data"]["tags"]
    tags = {tag["key"]: tag["value"] for tag in found}
    assert tags["prefect.flow_run_url"] == shown.run_page(shown.search)
    assert (tags["mlflow.source.name"], tags["mlflow.source.type"]) == ("deployment pipeline", "JOB")
    page.goto("about:blank")
    page.goto(tags["prefect.flow_run_url"])
    assert missing(page, ["search combinatorial_auction", "Task Runs"]) == []


def test_the_pages_ask_no_other_machine(page, outside):
    assert outside == set()


def test_without_a_browser_there_is_a_sentence_on_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(NoBrowserError, match="apt-get install chromium"):
        chromium()
