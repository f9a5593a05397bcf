"""What a person does on both servers' pages, from an address that `bife up` prints, in as few clicks as they allow."""

import shutil

import pytest

from tests.browser.person import Person
from tests.browser.views import fill_in
from tests.support.operating import FINAL

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]

CODE = "def candidate_variable_score"


@pytest.fixture(scope="module")
def plans(knapsack_family, tmp_path_factory):
    """A person's own folder of instances."""
    folder = tmp_path_factory.mktemp("plans")
    for instance in knapsack_family.instances("test", 24):
        shutil.copy(instance.path, folder)
    return folder


@pytest.fixture(scope="module")
def own(page, shown, plans):
    """The run on the folder, which a person starts in the form of the pipeline; it is stopped at the end."""
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
    _ = shown.pipeline, shown.promotion
    reader = person("MLflow")
    reader.click("link", "Evaluations, newest first", new_tab=True)
    reader.sees("ratio_low", "p_value")
    reader.page.get_by_role("checkbox").first.click()
    reader.clicks += 1
    reader.click("button", "Compare")
    reader.sees("Comparing", "Parallel Coordinates Plot", "evaluation.baseline")
    assert reader.clicks == 3
