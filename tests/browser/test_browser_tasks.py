"""What a person does on both servers' pages, from an address that `bife up` prints, in as few clicks as they allow."""

import shutil

import pytest

from tests.browser.person import Person
from tests.browser.showing import searching
from tests.browser.views import choose, fill_in, send
from tests.support.challenging import beside, challenge_in
from tests.support.operating import FINAL, until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

CODE = "def candidate_variable_score"


@pytest.fixture(scope="module")
def plans(knapsack_family, tmp_path_factory):
    """A person's own folder of instances."""
    folder = tmp_path_factory.mktemp("plans")
    for instance in knapsack_family.instances("test", 24):
        shutil.copy(instance.path, folder)
    return folder


@pytest.fixture
def own(page, shown, plans):
    """The run on the folder, which a person starts in the form of the pipeline.

    It is stopped at the end: a pipeline that goes on for minutes lets no other begin.
    """
    reader = Person(page, shown, "overview")
    reader.click("link", "pipeline")
    reader.click("tab", "Folder")
    reader.page.get_by_role("tabpanel", name="Folder").get_by_role("textbox").fill(str(plans))
    with reader.page.expect_response("**/create_flow_run") as reply:
        reader.click("button", "Submit")
    assert (reply.value.ok, reader.clicks) == (True, 3)

    def on_it():
        runs = shown.up.page.runs_of("pipeline")
        return [run for run in runs if run["parameters"]["config"].get("instances") == str(plans)]

    (run,) = reader.until(on_it, "the run on the folder")
    reader.until(lambda: shown.up.page.run(run["id"])["name"] == f"pipeline {plans.name}", "it to begin")
    yield shown.up.page.run(run["id"])
    cancelling = {"type": "CANCELLING", "name": "Cancelling"}
    shown.up.page.ask("POST", f"/flow_runs/{run['id']}/set_state", state=cancelling)
    shown.up.page.end_of(run["id"])


def test_a_run_on_an_own_folder_is_watched_cancelled_and_retried(person, shown, own):
    def state():
        return shown.up.page.run(own["id"])["state_type"]

    def reader():
        shown.overview(own["id"], own["name"])  # renewed before, it has the name that Prefect gave
        each = person("overview")
        each.click("link", own["name"])
        return each

    watcher = reader()
    watcher.sees("Running", "precheck: what SCIP takes on a few instances")
    assert watcher.clicks == 1
    stopper = reader()
    stopper.click("button", "Open menu")
    stopper.click("menuitem", "Cancel")
    stopper.click("button", "Cancel Flow Run")  # Prefect's pages ask once more, as for a retry
    assert stopper.clicks == 4
    stopper.until(lambda: state() in FINAL, "the run to end")
    assert state() == "CANCELLED"
    again = reader()
    again.click("button", "Open menu")
    again.click("menuitem", "Retry")
    again.click("button", "Retry")
    assert again.clicks == 4
    again.until(lambda: state() == "RUNNING", "the run to go on")


def test_a_schedule_with_parameters_of_its_own_is_made(person, shown):
    reader = person("overview")
    reader.page.get_by_role("link", name="search", exact=True).last.click()
    reader.clicks += 1
    reader.click("button", "Schedule")
    fill_in(reader.page, "Rules to sample in all.", "12")
    reader.click("button", "Save")
    assert reader.clicks == 3

    def made():
        return shown.up.page.deployment("search")["schedules"]

    (schedule,) = reader.until(made, "the schedule")
    assert schedule["parameters"]["config"] == {"samples": 12}
    shown.up.page.client.delete(f"/deployments/{shown.deployment('search')}/schedules/{schedule['id']}")


def test_the_best_rule_with_its_code_and_the_measures_of_every_rule(person, shown):
    best = shown.search["state"]["message"].partition(" ")[0]
    reader = person("MLflow")
    reader.click("link", "Rules of all searches, best F_HF first", new_tab=True)
    reader.sees("f_hf", "f_lf", "search_key", best)
    assert reader.clicks == 1
    reader = person("MLflow")
    reader.click("link", "combinatorial_auction bife offline seed 0")
    reader.click("tab", "Artifacts")
    reader.page.get_by_text("best_rule.py").first.click()
    reader.clicks += 1
    reader.sees(CODE)
    assert reader.clicks == 3


def test_all_calls_of_a_search_are_seen(person, shown):
    name = f"{shown.calling['name'].removeprefix('search ')} bife openai seed 1"
    reader = person("MLflow")
    reader.click("link", name)
    reader.click("tab", "Traces")
    reader.sees("g00-c00.1: i1 in generation 0")
    assert reader.clicks == 2


def test_the_trials_of_a_tuning_are_seen(person, shown):
    _ = shown.tuning
    reader = person("MLflow")
    reader.click("link", "Trials of all tunings, best ratio first", new_tab=True)
    reader.sees("t000 *", "seen", "outcome")
    assert reader.clicks == 1


def test_evaluations_are_compared(person, shown):
    _ = shown.pipeline
    shown.up.page.end_well("evaluation", config=searching(), rule="paper_ca")
    reader = person("MLflow")
    reader.click("link", "Evaluations, newest first", new_tab=True)
    reader.sees("ratio_low", "p_value")
    reader.page.get_by_role("checkbox").first.click()
    reader.clicks += 1
    reader.click("button", "Compare")
    reader.sees("Comparing", "Parallel Coordinates Plot", "evaluation.baseline")
    assert reader.clicks == 3


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


def asked(shown, name, number, **known):
    """Return a promotion that waits for a person; what is known of its challenger is invented."""
    challenge_in(shown.up.home.root, name, number, shown.up.variables, **known)
    started = shown.up.page.start("promotion", name=name).raise_for_status().json()["id"]
    until(lambda: shown.up.page.run(started)["state_name"] == "Suspended", "the promotion to ask a person")
    return shown.up.page.run(started)


def version(shown, name, number):
    found = shown.up.tracked("GET", "model-versions/get", name=name, version=str(number))
    tags = {tag["key"]: tag["value"] for tag in found["model_version"]["tags"]}
    return tags, found["model_version"].get("aliases", [])


def test_a_person_approves_and_refuses_by_clicking(person, shown, name):
    run = asked(shown, name, 0)
    answer(person, shown, run, "approve", "faster on our models")
    ended = shown.up.page.end_of(run["id"])
    assert ended["state"]["message"] == "Version 1 is champion, approved by Ada: faster on our models"
    tags, aliases = version(shown, name, 1)
    assert (tags["approved_by"], tags["approved_reason"]) == ("Ada", "faster on our models")
    assert "champion" in aliases
    run = asked(shown, name, 1, **beside(0))
    answer(person, shown, run, "reject", "reads too many features")
    ended = shown.up.page.end_of(run["id"])
    assert ended["state"]["message"] == "Version 2 was refused by Ada: reads too many features"
    tags, aliases = version(shown, name, 2)
    assert (tags["rejected_by"], tags["rejected_reason"]) == ("Ada", "reads too many features")
    assert aliases == []


def test_a_person_rolls_a_champion_back_by_clicking(person, shown, name):
    run = asked(shown, name, 0)
    shown.up.page.resume(run["id"], decision="approve", reason="faster on our models", who="Ada")
    assert "approved by Ada" in shown.up.page.end_of(run["id"])["state"]["message"]
    reader = person("overview")
    reader.click("link", "rollback")
    fill_in(reader.page, "Registered model, such as", name)
    fill_in(reader.page, "Kept in the registry beside the rule.", "slower since the last release")
    fill_in(reader.page, "Your name; without one a person is asked", "Ada")
    reader.click("button", "Submit")
    assert reader.clicks == 2
    run = reader.until(lambda: shown.up.page.runs_of("rollback"), "the rollback")[0]
    ended = shown.up.page.end_of(run["id"])
    assert ended["state_type"] == "COMPLETED", ended["state"]
    assert ended["state"]["message"].endswith(", by Ada: slower since the last release")
    assert "champion" not in version(shown, name, 1)[1]
