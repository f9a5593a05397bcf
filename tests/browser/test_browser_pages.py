"""Both servers' pages as a person sees and uses them, in Chromium; `make browser` runs these tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from http import HTTPStatus

import pytest

from tests.browser.chromium import NoBrowserError, chromium, missing
from tests.browser.showing import CHALLENGED, promotion_of
from tests.browser.views import VIEWS, View, choose, fill_in, form_of, refuse_zero_samples
from tests.flows.cli.conftest import environment
from tests.support.challenging import beside

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

VIEW = {view.name: view for view in VIEWS}


def answer(page, run_page, decision, reason):
    """Fill in the form of a run that waits for a person, and send it until Prefect takes it.

    Its SQLite refuses a write that meets another one; the page says so and keeps the form as it is filled in.
    """
    page.goto("about:blank")
    page.goto(run_page)
    page.get_by_role("button", name="Resume").first.click()
    form = page.get_by_role("dialog")
    decisions = form.get_by_text("Approve to make the rule champion").locator("xpath=following::button[1]")
    choose(page, decisions, decision)
    fields = form.locator("textarea")
    fields.nth(0).fill(reason)
    fields.nth(1).fill("Ada")
    for _ in range(3):
        with page.expect_response("**/resume") as reply:
            form.get_by_role("button", name="Submit").click()
        if reply.value.status != HTTPStatus.SERVICE_UNAVAILABLE:
            break
        assert missing(page, ["Failed to resume flow run"]) == []
    assert missing(page, ["Flow run resumed"]) == [], page.locator("body").inner_text()


def version(shown, number):
    found = shown.up.tracked("GET", "model-versions/get", name=CHALLENGED, version=str(number))
    tags = {tag["key"]: tag["value"] for tag in found["model_version"]["tags"]}
    return tags, found["model_version"].get("aliases", [])


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_shows_what_a_reader_needs(page, shown, view):
    view.open(page, shown)
    assert missing(page, view.texts) == []


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
    assert missing(page, ["Failure reason: 0 is less than the minimum of 1"]) == []
    assert len(shown.up.page.runs_of("pipeline")) == before


def test_a_list_opens_and_closes_where_it_is_clicked(page, shown):
    VIEW["prefect-form"].open(page, shown)
    choice = page.locator(".p-select-button__control").first
    options = page.locator(".p-select-option")
    for _ in range(2):
        choice.click()
        options.first.wait_for(state="visible")
        choice.click()
        options.first.wait_for(state="hidden")
    page.locator(".p-select-button__icon").first.click()
    options.first.wait_for(state="visible")
    last = options.last.inner_text()
    options.last.click()
    choice.filter(has_text=last).wait_for()


def test_a_run_starts_with_what_a_person_changed_in_the_form(page, shown):
    before = {run["id"] for run in shown.up.page.runs_of("collection")}
    View("collection-form", form_of("collection"), ()).open(page, shown)
    fill_in(page, "Decisions to record in all.", "25")
    choose(page, page.locator(".p-select-button__control").filter(has_text="test").first, "tiny")
    page.get_by_role("button", name="Submit").click()
    assert missing(page, ["collection combinatorial_auction"]) == []
    (started,) = [run for run in shown.up.page.runs_of("collection") if run["id"] not in before]
    ended = shown.up.page.end_of(started["id"])
    config = ended["parameters"]["config"]
    assert (config["instances"]["size"], config["collection"]["decisions"]) == ("tiny", 25)
    assert ended["state_type"] == "COMPLETED", ended["state"]
    assert "25 decisions" in ended["state"]["message"]


def test_a_person_approves_by_clicking(page, shown):
    busy = {"exception_message": "Service Unavailable"}
    page.route("**/resume", lambda route: route.fulfill(status=503, json=busy), times=1)
    answer(page, shown.run_page(shown.promotion), "approve", "faster on our models")
    ended = shown.up.page.end_of(shown.promotion["id"])
    assert ended["state"]["message"] == "Version 1 is champion, approved by Ada: faster on our models"
    tags, aliases = version(shown, 1)
    assert (tags["approved_by"], tags["approved_reason"]) == ("Ada", "faster on our models")
    assert "champion" in aliases


def test_a_person_refuses_by_clicking(page, shown):
    sha = version(shown, 1)[0]["sha"]
    known = json.dumps(beside(0) | {"champion_sha": sha})
    subprocess.run(
        [sys.executable, "-m", "tests.support.challenging", CHALLENGED, "1", known],
        env=environment(shown.up.home.root),
        check=True,
    )
    shown.up.page.start("promotion", name=CHALLENGED).raise_for_status()
    run = promotion_of(shown.up, CHALLENGED, besides=shown.promotion["id"])
    answer(page, shown.run_page(run), "reject", "reads too many features")
    ended = shown.up.page.end_of(run["id"])
    assert ended["state"]["message"] == "Version 2 was refused by Ada: reads too many features"
    tags, aliases = version(shown, 2)
    assert (tags["rejected_by"], tags["rejected_reason"]) == ("Ada", "reads too many features")
    assert aliases == []


def test_the_pages_need_no_other_machine(page, outside):
    assert outside == set()


def test_without_a_browser_there_is_a_sentence_on_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(NoBrowserError, match="apt-get install chromium"):
        chromium()
