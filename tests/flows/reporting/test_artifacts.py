"""What Prefect's API holds after a run, which is what its pages show."""

import logging
import re
from base64 import b64decode

import pytest
from prefect import task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter
from prefect.flow_engine import run_flow

from bife_core.base.errors import BifeError, RuleError
from bife_core.run.observer import TrackedRun
from bife_core.run.stages.conclusions import links
from bife_core.run.stages.results import Precheck
from bife_flows.reporting.artifacts import artifact_key
from bife_flows.reporting.conduct import stage
from bife_flows.reporting.conductor import PrefectConductor, with_message, worded


def artifacts(key):
    """All versions of an artifact, newest last."""
    wanted = ArtifactFilter.model_validate({"key": {"any_": [key]}})
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=wanted)
    return sorted(found, key=lambda artifact: artifact.created)


def flow_runs(name):
    chosen = {"flows": {"name": {"any_": [name]}}}
    with get_client(sync_client=True) as client:
        return client.request("POST", "/flow_runs/filter", json=chosen).json()


def flow_states(name):
    return [(run["state"]["name"], run["state"]["message"]) for run in flow_runs(name)]


@pytest.mark.parametrize("label", ["My models: 2", "Ätna", ""])
def test_keys_are_what_prefect_takes(label):
    assert set(artifact_key("population", label)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_a_table_a_bar_and_a_curve_grow_with_the_search_which_ends_with_a_sentence(smoke):
    best = smoke.result.search.best
    sentence = f"{best.id} is the best of 8 rules: F_HF {best.f_hf:.4g}."
    # The API holds the searches of other tests as well.
    (ended, *_) = [run for run in flow_runs("search") if run["state"]["message"] == sentence]
    assert ended["state"]["name"] == "Completed"
    (whole,) = {
        str(artifact.flow_run_id)
        for artifact in artifacts("pipeline-combinatorial-auction")
        if smoke.result.search.run.ranking in artifact.data
    }
    assert whole in {run["id"] for run in flow_runs("pipeline")}

    def shown(kind):
        found = artifacts(f"{kind}-combinatorial-auction")
        return [artifact for artifact in found if str(artifact.flow_run_id) == whole]

    (table,) = shown("population")
    last = smoke.diary.states[-1].generation
    assert table.description.startswith(f"Rules after generation {last}, best first.")
    assert f'"id": "{best.id}"' in str(table.data).splitlines()[0][:40]
    assert shown("progress")[-1].data == 100.0
    (drawn,) = shown("anytime")
    parts = r"^!\[The curve\]\(data:image/png;base64,.*\)$|^\|.*[\d.]+ .*\|$"
    picture, *rows = re.findall(parts, drawn.data, re.M)
    assert b64decode(picture.rpartition(",")[2].rstrip(")")).startswith(b"\x89PNG")
    curve = [tuple(row.strip("| ").split(" | ")) for row in rows]
    assert curve[-1][1:] == (f"{best.f_hf:.4g}", best.id)
    assert curve == sorted(curve, key=lambda point: (float(point[0]), float(point[1])))


@stage("showing", "{what}")
def showing_again(what: str) -> None:
    """Conclude twice, as a run does that was killed and goes on."""
    for text in ("First.", f"{what} at last."):
        PrefectConductor().conclude("my plans", "showing", text)


def test_a_run_has_the_latest_of_its_artifacts_alone_and_a_key_those_of_all_runs(prepared):
    showing_again("Salt")
    showing_again("Plans")
    assert [one.data for one in artifacts("showing-my-plans")] == ["Salt at last.", "Plans at last."]


def test_the_conclusion_holds_rule_ratio_and_links(smoke):
    texts = [artifact.data for artifact in artifacts("pipeline-combinatorial-auction")]
    text = next((text for text in texts if smoke.result.search.run.ranking in text), "")
    assert smoke.result.search.run.ranking in text
    assert smoke.result.final.source.rstrip() in text
    assert f"{smoke.result.evaluation.summary.lead.ratio:.3f}" in text
    runs = {run["id"] for run in flow_runs("pipeline")}
    of_parts = [*artifacts("search-combinatorial-auction"), *artifacts("evaluation-combinatorial-auction")]
    assert not [one for one in of_parts if str(one.flow_run_id) in runs], "what it concludes has theirs"


def test_links_lead_somewhere_only_with_a_server():
    served = TrackedRun(url="http://m/#/r", ranking="http://m/#/t", tracker="MLflow")
    assert "[all rules, best first](http://m/#/t)" in links(served)
    assert "`bife up`" in links(TrackedRun(url="#/r", ranking="#/t", tracker="MLflow"))


@stage("naming", "of {number}")
def naming(number: int) -> None:
    """Do nothing."""


def test_a_run_keeps_the_name_that_a_person_gave_it(prepared):
    naming(1)
    with get_client(sync_client=True) as client:
        for name in ("Before the holidays", "brave-otter", "Incredible-Skunk"):
            run = client.create_flow_run(naming, parameters={"number": 2}, name=name)
            run_flow(naming, flow_run=run, parameters={"number": 2})
    names = {"naming of 1", "Before the holidays", "naming of 2"}
    assert {run["name"] for run in flow_runs("naming")} == names


@task
def judge(reason: str | None) -> dict[str, int]:
    return with_message({"judged": 1}, reason or "F_LF 0.5", "Rejected" if reason else None)


@task
def refuse() -> None:
    raise RuleError("Line 3: names must be defined.")


@stage("judging", "")
def judging():
    """Judge twice."""
    state = judge.submit("Line 2: no.", return_state=True)
    assert (state.name, state.message, state.is_completed()) == ("Rejected", "Line 2: no.", True)
    return with_message(judge.submit(None).result()["judged"] + state.result()["judged"], "Two were judged.")


@stage("refusing", "")
def refusing():
    """Fail on purpose."""
    refuse()


def test_a_rejected_rule_shows_its_reason_and_its_result_goes_on():
    assert judging() == 2
    assert flow_states("judging") == [("Completed", "Two were judged.")]


def test_an_error_made_on_purpose_is_a_sentence_without_a_stack(caplog):
    with caplog.at_level(logging.ERROR, logger="prefect"), pytest.raises(BifeError, match="Line 3"):
        refusing()
    assert flow_states("refusing") == [("Failed", "Line 3: names must be defined.")]
    # On a busy machine Prefect may have errors of its own to tell.
    records = [record for record in caplog.records if "names must be defined" in record.getMessage()]
    assert records
    assert all(record.exc_info is None for record in records)


def test_outside_of_a_run_results_are_plain():
    assert judge.fn("Line 2: no.") == {"judged": 1}
    with pytest.raises(RuleError):
        refusing.fn()


@stage("prechecking", "")
def prechecking():
    """Take a step whose sentence the stage notes."""
    return PrefectConductor().step("pre-check", "measure", lambda: Precheck(sentence="No solve ended."))


def test_what_a_step_comes_to_is_left_to_its_stage(prepared):
    prechecking()
    assert flow_states("prechecking") == [("Completed", "No solve ended.")]
    with get_client(sync_client=True) as client:
        (measured,) = [run for run in client.read_task_runs(limit=200) if run.name == "measure"]
    assert not measured.state.message


def test_a_stage_without_a_flow_is_a_sentence():
    sentence = r"^Prefect runs a stage as its flow, and .*\.worded has none; make one in"
    with pytest.raises(BifeError, match=sentence):
        PrefectConductor().stage(worded, None, None)
