"""Both servers' pages as a person sees and uses them, in Chromium; `make browser` runs these tests."""

import os
import re

import pytest
from PIL import Image

from bench.pictures import IMAGES, taken
from bife_tasks.tracking import mlflow_runs
from tests.browser.chromium import NoBrowserError, chromium, missing
from tests.browser.showing import CHALLENGED, promotion_of
from tests.browser.views import VIEWS, View, choose, field, fill_in, form_of, refuse_zero_samples
from tests.support.challenging import beside, challenge_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

VIEW = {view.name: view for view in VIEWS}


def answer(person, shown, run, decision, reason):
    """Fill in the form of a run that waits for a person, and send it."""
    shown.overview(run["id"])
    reader = person("overview")
    page = reader.page
    reader.click("link", run["name"])
    reader.click("button", "Open menu")
    reader.click("menuitem", "Resume")
    form = page.get_by_role("dialog")
    # A list that is opened while its form still moves lies where the form was, at times outside the window.
    form.evaluate("form => Promise.all(form.getAnimations().map(each => each.finished))")
    choose(page, form.get_by_role("button", name="Select Decision"), decision)
    fill_in(page, "Kept in the registry beside the rule.", reason)
    fill_in(page, "Your name, kept beside the reason.", "Ada")
    send(page, form.get_by_role("button", name="Resume", exact=True), "**/resume")
    reader.sees("Flow run resumed")
    assert reader.clicks == 3, "before the form"


def send(page, button, address):
    """Press a button; Prefect must take what it sends."""
    with page.expect_response(address) as reply:
        button.click()
    assert reply.value.ok


def version(shown, number):
    found = shown.up.tracked("GET", "model-versions/get", name=CHALLENGED, version=str(number))
    tags = {tag["key"]: tag["value"] for tag in found["model_version"]["tags"]}
    return tags, found["model_version"].get("aliases", [])


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


def test_a_person_approves_by_clicking(person, shown):
    answer(person, shown, shown.promotion, "approve", "faster on our models")
    ended = shown.up.page.end_of(shown.promotion["id"])
    assert ended["state"]["message"] == "Version 1 is champion, approved by Ada: faster on our models"
    tags, aliases = version(shown, 1)
    assert (tags["approved_by"], tags["approved_reason"]) == ("Ada", "faster on our models")
    assert "champion" in aliases


def test_a_person_refuses_by_clicking(person, shown):
    sha = version(shown, 1)[0]["sha"]
    known = beside(0) | {"champion_sha": sha}
    challenge_in(shown.up.home.root, CHALLENGED, 1, shown.up.variables, **known)
    shown.up.page.start("promotion", name=CHALLENGED).raise_for_status()
    run = promotion_of(shown.up, CHALLENGED, besides=shown.promotion["id"])
    answer(person, shown, run, "reject", "reads too many features")
    ended = shown.up.page.end_of(run["id"])
    assert ended["state"]["message"] == "Version 2 was refused by Ada: reads too many features"
    tags, aliases = version(shown, 2)
    assert (tags["rejected_by"], tags["rejected_reason"]) == ("Ada", "reads too many features")
    assert aliases == []


def test_a_person_rolls_a_champion_back_by_clicking(person, shown):
    reader = person("overview")
    reader.click("link", "rollback")
    fill_in(reader.page, "Registered model, such as", CHALLENGED)
    fill_in(reader.page, "Kept in the registry beside the rule.", "slower since the last release")
    fill_in(reader.page, "Your name; without one a person is asked", "Ada")
    reader.click("button", "Submit")
    assert reader.clicks == 2
    run = reader.until(lambda: shown.up.page.runs_of("rollback"), "the rollback")[0]
    ended = shown.up.page.end_of(run["id"])
    assert ended["state_type"] == "COMPLETED", ended["state"]
    assert ended["state"]["message"].endswith(", by Ada: slower since the last release")
    assert "champion" not in version(shown, 1)[1]


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
