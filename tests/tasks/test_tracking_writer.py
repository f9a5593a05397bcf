"""What the events of a search become in MLflow."""

import json
import re
import time
import uuid
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qs

import pytest

from bife_core.measure.context import Reference
from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.run.stages.records import COLLECTION, EVALUATION, SEARCH, TUNING, Record
from bife_core.run.study import files as reports
from bife_core.run.study.journal import Referred, Stopped, claim_on
from bife_core.search import Sample, SampleRequest
from bife_core.search.answers import Answered
from bife_core.search.generators.account import Account
from bife_core.search.generators.prompting import prompt_version
from bife_tasks.stores import home_store, subscriber
from bife_tasks.tracking import mlflow_runs, traces as traces_of
from bife_tasks.tracking.subscriber import synchronise, track_record
from bife_tasks.tracking.traces import PROMPTS
from bife_tasks.tracking.writer import outcome
from tests.support import journals
from tests.support.journals import TRIED_TWICE, add_draft, add_end, add_generation, add_sample
from tests.support.measured import solved
from tests.support.tracked import BROKEN, GOOD, Projection, artifacts, children, parent, synced, traces

SILENT = {"source": None, "failure": "No code.", "attempts": (journals.attempt(answer="no"),)}


@pytest.fixture(scope="module")
def ended(home):
    """A search that ended: a good sample, a broken one, an answer without a rule, a reflection, a generation."""
    key = uuid.uuid4().hex[:16]
    journal = journals.opened(key, home / "runs" / key)
    fates = (("g01-c00", GOOD), ("g01-c01", BROKEN), ("g01-c02", SILENT))
    samples = [add_sample(journal, name, **fate) for name, fate in fates]
    journals.add_reflection(journal)
    journals.write_files(journal.folder, samples)
    add_generation(journal, 1)
    add_end(journal)
    return Ended(synced(journal.folder), journal.entries)


class Ended(NamedTuple):
    """What MLflow has of a search, and the events it is made of."""

    search: Projection
    entries: list


def test_a_search_that_has_begun_is_found_with_what_defines_it(journal, folder):
    run = parent(synced(folder))
    assert (run.info.status, run.info.run_name) == ("RUNNING", "a search")
    assert run.info.start_time == int(journal.entries[0].at_unix_s * 1000)
    assert run.data.params == {"search.seed": "0"}
    assert (run.data.tags["kind"], run.data.tags["benchmark"]) == ("search", "toys")


def test_runs_are_found_by_the_data_they_share(key, folder, home):
    about = {"name": "a stage", "tags": {"benchmark": "toys"}, "metrics": {}}
    made = Record(experiment=COLLECTION, key=f"c{key}", params={"decisions_digest": key}, **about)
    collection = track_record(home / "runs" / f"collection-c{key}", made)
    journals.opened(key, folder, params={"decisions": key, "design": "d", "search.seed": 0})
    run = parent(synced(folder))
    assert parent(synced(folder)).inputs == run.inputs
    named = {(one.dataset.name, one.dataset.digest, one.tags[0].value) for one in run.inputs.dataset_inputs}
    assert named == {("toys decisions", key, "training"), ("toys design instances", "d", "training")}
    both = [mlflow_runs.experiment_id(name) for name in (COLLECTION, SEARCH)]
    found = mlflow_runs.client().search_runs(both, f"dataset.digest = '{key}'")
    assert {one.info.run_id for one in found} == {collection, run.info.run_id}


def test_an_evaluation_and_the_search_of_its_rule_lead_to_each_other(journal, folder, home):
    add_end(journal)
    search = parent(synced(folder))
    about = {"tags": {"search_key": journal.key}, "note": "It is faster."}
    made = Record(experiment=EVALUATION, key=journal.key, name="e", params={}, metrics={}, **about)
    run = mlflow_runs.client().get_run(track_record(home / "runs" / f"evaluation-{journal.key}", made))
    assert run.data.tags["search_run"] == search.info.run_id
    assert f"/runs/{search.info.run_id}" in run.data.tags["mlflow.note.content"]
    wanted = parse_qs(re.search(r"\?(\S+)\)", search.data.tags["mlflow.note.content"])[1])["searchFilter"][0]
    assert [one.info.run_id for one in mlflow_runs.find_runs(EVALUATION, wanted)] == [run.info.run_id]


def test_a_trial_of_a_tuning_is_a_run_below_it_and_there_once(key, home):
    about = {"params": {"lp/pricing": "s"}, "metrics": {"ratio": 0.8}, "tags": {"kind": "trial"}}
    steps = {"steps": ((1, 0.7), (2, 0.8))}
    trial = Record(experiment=TUNING, key=f"{key}-0", name="t000 *", curves=steps, **about)
    calls = {"calls": f"configurations-{key}", "began_unix_s": 1_700_000_000.0}
    empty = {"params": {}, "metrics": {}, "tags": {}}
    made = Record(experiment=TUNING, key=key, name="t", children=[trial], **empty, **calls)
    account = Account(home_store(), made.calls)
    account.finish(account.begin(journals.call("a", kind="configurations", cost_usd="0.25")))
    resume = partial(mlflow_runs.client().update_run, status="RUNNING")
    for after in (resume, mlflow_runs.client().delete_run, resume):
        run = track_record(home / "runs" / f"tuning-{key}", made)
        (found,) = mlflow_runs.find_runs(TUNING, f"tags.`bife.key` = '{key}-0'")
        assert [one.info.run_id for one in mlflow_runs.children(run, TUNING)] == [found.info.run_id]
        assert (found.info.run_name, found.info.status) == ("t000 *", "FINISHED")
        curve = mlflow_runs.client().get_metric_history(found.info.run_id, "steps")
        assert [(point.step, point.value) for point in curve] == [(1, 0.7), (2, 0.8)]
        assert (found.data.params, found.data.metrics["ratio"]) == (about["params"], 0.8)
        info = mlflow_runs.client().get_run(run).info
        assert info.start_time == found.info.start_time == 1_700_000_000_000
        assert time.time() - 100.0 < info.end_time / 1000 == found.info.end_time / 1000
        (trace,) = mlflow_runs.client().search_traces(
            locations=[mlflow_runs.experiment_id(SEARCH)], filter_string=f"tags.`bife.run` = '{made.calls}'"
        )
        assert (trace.info.tags["operator"], trace.info.tags["bife.call"]) == ("configurations", "a.1")
        after(run)


def test_a_tuning_is_followed_while_it_goes_on_and_says_why_it_stopped(key, home):
    study = home / "runs" / f"tuning-{key}"
    about = {"experiment": TUNING, "key": key, "name": "t", "params": {}, "tags": {"kind": "tuning"}}

    def written(state, *curve):
        curves, metrics = {"ratio": curve}, {"ratio": curve[-1][1], "trials": len(curve)} if curve else {}
        record = Record(state=state, metrics=metrics, curves=curves, **about)
        return mlflow_runs.client().get_run(track_record(study, record))

    assert written("running").info.status == "RUNNING"
    run = written("running", (3, 1.0), (5, 0.8))
    written("running", (3, 1.0), (5, 0.8), (5, 0.7))
    with home_store().claim(claim_on(study.name)):
        synchronise("Gone.")
        assert mlflow_runs.client().get_run(run.info.run_id).info.status == "RUNNING"
    synchronise("Cancelled.", by_person=True, of="another run")
    assert mlflow_runs.client().get_run(run.info.run_id).info.status == "RUNNING"
    synchronise("Cancelled.")
    killed = mlflow_runs.client().get_run(run.info.run_id)
    assert (killed.info.status, killed.data.tags["stopped"]) == ("KILLED", "Cancelled.")
    resumed = written("running", (3, 1.0))
    assert resumed.info.status == "RUNNING"
    assert "stopped" not in resumed.data.tags
    ended = written("finished", (3, 1.0), (5, 0.8), (5, 0.7), (9, 0.6))
    assert (ended.info.run_id, ended.info.status) == (run.info.run_id, "FINISHED")
    assert (ended.data.metrics["ratio"], ended.data.metrics["trials"]) == (0.6, 4)
    curve = mlflow_runs.client().get_metric_history(run.info.run_id, "ratio")
    steps = list(dict.fromkeys((point.step, point.value) for point in curve))
    assert steps == [(3, 1.0), (5, 0.8), (5, 0.7), (9, 0.6)]


def test_every_run_names_the_process_it_comes_from(key, journal, folder):
    journals.opened(key, folder, {"mlflow.user": "ada", "prefect.flow_run_id": "1"})
    add_sample(journal, **GOOD)
    first = synced(folder)
    for run in (parent(first), *children(first).values()):
        assert (run.data.tags["mlflow.user"], run.data.tags["prefect.flow_run_id"]) == ("ada", "1")
    again = journals.opened(key, folder, {"mlflow.user": "bob"})
    add_sample(again, "g01-c01", **BROKEN)
    resumed = synced(folder)
    users = {name: run.data.tags["mlflow.user"] for name, run in children(resumed).items()}
    assert users == {"g01-c00": "ada", "g01-c01": "bob"}
    tags = parent(resumed).data.tags
    assert tags["mlflow.user"] == "bob"
    assert "prefect.flow_run_id" not in tags


def test_a_sample_becomes_a_child_run_with_everything_known(ended):
    run = children(ended.search)["g01-c00"]
    assert run.info.status == "FINISHED"
    written = {"generation": "1", "operator": "m1", "llm_model": "stand-in", "generator": "openai"}
    assert run.data.params == written
    measured = {"f_lf": 0.5, "f_hf": -2.0, "cost_usd": 0.25, "f_lf_seconds": 0.5, "solve_cpu_s": 3.0}
    assert measured.items() <= run.data.metrics.items()
    assert run.data.metrics["ast_nodes"] > 0
    assert {"kind": "sample", "sha": "abc", "parents": "g00-c01"}.items() <= run.data.tags.items()
    assert artifacts(run.info.run_id) == {"rule.py"}


def test_a_sample_took_from_the_beginning_of_its_draft_to_its_last_score(journal, folder):
    request = SampleRequest(id="g01-c00", generation=1, operator="m1", seed=1)
    drafted = journal.add(Answered(request=request, draft=journals.draft("g01-c00", seconds=2.5)))
    low = LowScore(f_lf=0.5, sha="abc", seconds=0.5)
    scored = journal.add(drafted.model_copy(update={"low": low}))
    time.sleep(0.05)
    journal.settle([journals.settled(f_lf=0.5)])
    info = children(synced(folder))["g01-c00"].info
    assert info.start_time == int(drafted.at_unix_s * 1000) - 2500
    assert info.end_time == int(scored.at_unix_s * 1000)


def test_failures_calls_without_a_rule_and_reflections_are_children_of_their_own_kind(ended):
    runs = children(ended.search)
    kinds = {name: (run.data.tags["kind"], run.info.status) for name, run in runs.items()}
    assert kinds == {
        "g01-c00": ("sample", "FINISHED"),
        "g01-c01": ("sample", "FAILED"),
        "g01-c02": ("call", "FAILED"),
        "g01-r00": ("reflection", "FINISHED"),
    }
    assert runs["g01-c02"].data.tags["outcome"] == "no_rule"
    assert artifacts(runs["g01-c01"].info.run_id) == {"rule.py", "error.txt"}
    assert artifacts(runs["g01-r00"].info.run_id) == {"reflection.txt"}
    assert runs["g01-r00"].data.metrics["prompt_tokens"] == 3


def test_calls_and_their_search_lead_to_the_prompts_in_use(journal, folder):
    versions = (prompt_version(), "old")
    tried = [journals.attempt(answer="a rule", prompt_version=version) for version in versions]
    add_sample(journal, f_lf=0.5, attempts=tried)
    search, client = synced(folder), mlflow_runs.client()
    name = f"{PROMPTS}m1"
    (prompt,) = client.search_prompt_versions(name)
    assert "{{features}}" in prompt.template
    assert prompt.template.startswith("# m1.md")
    assert "# m2.md" not in prompt.template
    assert prompt.commit_message.startswith("Prompt of operator m1 in BiFE ")
    assert json.loads(parent(search).data.tags["mlflow.linkedPrompts"])[0]["name"] == name
    found = client.search_traces(
        locations=[mlflow_runs.experiment_id(SEARCH)],
        run_id=search.run_id,
        filter_string=f"prompt = '{name}/{prompt.version}'",
    )
    assert [trace.info.tags["bife.call"] for trace in found] == ["g01-c00.1"]
    traces_of._prompts.cache_clear()
    home_store().set_cursor(subscriber(), folder.name, 0)
    synced(folder)
    assert len(client.search_prompt_versions(name)) == 1


def test_every_attempt_is_a_trace_tied_to_the_parent_run(ended):
    found = {trace.info.tags["bife.call"]: trace for trace in traces(ended.search)}
    assert set(found) == {"g01-c00.1", "g01-c00.2", "g01-c02.1", "g01-r00.1"}
    assert found["g01-c00.1"].info.state == "ERROR"
    good = found["g01-c00.2"]
    assert good.info.execution_duration == 2000
    assert good.info.token_usage["total_tokens"] == 15
    span = good.data.spans[0]
    assert span.attributes["mlflow.llm.cost"] == {"total_cost": 0.25}
    assert (span.inputs["operator"], span.inputs["generation"]) == ("m1", 1)
    assert span.outputs == "a rule"
    assert span.name == "g01-c00.2: m1 in generation 1"


def test_a_rule_leads_to_its_own_call_which_says_what_became_of_the_answer(ended):
    found = {trace.info.tags["bife.call"]: trace.info for trace in traces(ended.search)}
    for name, call, what in (("g01-c00", "g01-c00.2", "solved"), ("g01-c02", "g01-c02.1", "no_rule")):
        note = children(ended.search)[name].data.tags["mlflow.note.content"]
        query = parse_qs(re.search(r"\[The call that wrote it\]\(\S+\?(\S+)\)", note)[1])
        assert query["selectedEvaluationId"] == [found[call].trace_id]
        assert found[call].tags["outcome"] == what


def test_an_answer_after_which_the_model_was_asked_again_was_refused(journal, folder):
    add_draft(journal, attempts=[journals.attempt(answer="no"), journals.attempt(answer="a rule")])
    kept = {trace.info.tags["bife.call"]: trace.info.tags.get("outcome") for trace in traces(synced(folder))}
    assert kept == {"g01-c00.1": "refused", "g01-c00.2": None}


def test_a_call_that_was_repaired_is_traced_with_what_it_was_asked(journal, folder):
    asked = tuple(journals.Message(role=role, content=role) for role in ("user", "assistant", "user"))
    add_draft(journal, attempts=[journals.attempt(messages=asked[:1]), journals.attempt(messages=asked)])
    inputs = {trace.info.tags["bife.call"]: trace.data.spans[0].inputs for trace in traces(synced(folder))}
    counts = {name: len(asked["messages"]) for name, asked in inputs.items()}
    assert counts == {"g01-c00.1": 1, "g01-c00.2": 3}


def test_calls_of_a_request_without_an_answer_are_traced_once_whatever_comes_of_it(journal, folder):
    journals.add_calls(journal, "g01-c09", TRIED_TWICE[:1])
    journal.stop("Interrupted.")
    search = synced(folder)
    assert (len(traces(search)), children(search)) == (1, {})
    add_sample(journal, "g01-c09", attempts=TRIED_TWICE)
    for one in (search, Projection(folder.name)):
        assert not one.sync()
        assert sorted(trace.info.tags["bife.call"] for trace in traces(one)) == ["g01-c09.1", "g01-c09.2"]


def test_a_sample_under_way_is_a_child_that_runs_until_it_is_settled(journal, folder):
    add_draft(journal, **GOOD)
    search = synced(folder)
    run = children(search)["g01-c00"]
    assert (run.info.status, run.data.metrics["f_lf"]) == ("RUNNING", 0.5)
    journal.settle([journals.settled(f_lf=0.5, f_hf=-2.0)])
    again = synced(folder)  # by another process, which has to look up what is there
    ended = children(again)["g01-c00"]
    assert (ended.info.run_id, ended.info.status) == (run.info.run_id, "FINISHED")
    for metric in ended.data.metrics:
        assert len(mlflow_runs.client().get_metric_history(run.info.run_id, metric)) == 1, metric


def table(search, artifact):
    return mlflow_runs.client().load_table(mlflow_runs.experiment_id(SEARCH), artifact, [search.run_id])


def test_a_generation_has_its_points_at_its_own_time_and_the_files_of_the_folder(ended):
    search = ended.search
    (point,) = mlflow_runs.client().get_metric_history(search.run_id, "samples_total")
    assert (point.step, point.value) == (1, 1.0)
    assert point.timestamp == int(ended.entries[-2].at_unix_s * 1000)
    measured = parent(search).data.metrics
    assert (measured["cost_usd"], measured["mean_f_hf"], measured["solve_cpu_s"]) == (0.25, -2.0, 3.0)
    assert list(table(search, reports.SAMPLES)["id"]) == ["g01-c00", "g01-c01", "g01-c02"]


def test_an_end_has_its_files_its_numbers_and_its_status(ended):
    run = parent(ended.search)
    assert (run.info.status, run.info.end_time) == ("FINISHED", int(ended.entries[-1].at_unix_s * 1000))
    assert (run.data.metrics["final_f_hf"], run.data.metrics["work_s"]) == (-2.0, 2.0)
    (total,) = mlflow_runs.client().get_metric_history(run.info.run_id, "work_s")
    assert total.step == 0, "a total is no point of the last generation"
    tags = run.data.tags
    assert (tags["best_sample"], tags["best_sha"], tags["ended_by"]) == ("g01-c00", "abc", "search.samples")
    assert tags["lineage"] == "g01-c00 by m1"
    assert tags["mlflow.note.content"].startswith("**g01-c00 by m1**")
    assert {reports.BEST_RULE, reports.COST, reports.SAMPLES} <= artifacts(run.info.run_id)


def test_rules_of_equal_f_hf_have_ranks_at_the_end_and_the_winner_the_first(journal, folder):
    for name, f_lf in (("g01-c00", 0.5), ("g01-c01", 0.7), ("g01-c02", 0.6)):
        add_sample(journal, name, **GOOD | {"f_lf": f_lf})
    add_sample(journal, "g01-c03", **BROKEN)
    assert "rank" not in children(synced(folder))["g01-c01"].data.metrics
    add_end(journal)
    ranks = {name: run.data.metrics.get("rank") for name, run in children(synced(folder)).items()}
    assert ranks == {"g01-c00": 3, "g01-c01": 1, "g01-c02": 2, "g01-c03": None}


def test_an_end_without_a_rule_says_so(journal, folder):
    add_end(journal, best=None)
    tags = parent(synced(folder)).data.tags
    assert tags["best_sample"] == "none"
    assert tags["mlflow.note.content"].startswith("No sampled rule was of use")


def solve(instance, status="optimal", **known):
    made = solved("relpscost", 0, 1.0).result
    return made.model_copy(update={"instance": instance, "status": status, **known})


def test_the_design_solves_of_rpb_and_of_each_rule_are_a_table_at_the_end(journal, folder):
    journal.add(Referred(reference=Reference(results=(solve("a", cpu_s=2.0, root_s=0.5), None))))
    score = HighScore(f_hf=-3.0, costs=(3.0, None), results=(solve("a", "timelimit", cpu_s=6.0),))
    journals.add_solves(journal, "g01-c00", score)
    add_end(journal)
    search = synced(folder)
    for run in (parent(search), children(search)["g01-c00"]):
        assert (run.data.metrics["rpb_f_hf"], run.data.tags["f_hf_unit"]) == (-2.0, "CPU s")
    rows = table(search, "design_solves.json")
    known = rows[["rule", "instance", "cost", "cpu_s", "capped", "status"]].astype(object)
    assert [[None if value != value else value for value in row] for row in known.values.tolist()] == [
        ["relpscost", "a", 2.0, 2.0, False, "optimal"],
        ["g01-c00", "a", 3.0, 6.0, True, "timelimit"],
    ]


def test_an_extended_search_continues_its_run_and_ends_it_again(key, journal, folder):
    add_end(journal)
    first = synced(folder)
    extended = journals.opened(key, folder)
    assert parent(synced(folder)).info.status == "RUNNING"
    add_sample(extended, "g02-c00", **GOOD)
    add_end(extended, best=journals.BEST.model_copy(update={"f_hf": -1.0}))
    found = synced(folder)
    run = parent(found)
    assert (found.run_id, run.info.status) == (first.run_id, "FINISHED")
    assert run.data.metrics["final_f_hf"] == -1.0
    assert children(found).keys() == {"g02-c00"}


@pytest.mark.parametrize(
    ("last", "status", "tag"),
    [
        (lambda j: add_end(j, ended_by="enough"), "FINISHED", "ended_by"),
        (lambda j: j.add(Stopped(reason="enough")), "FAILED", "stopped"),
        (lambda j: j.add(Stopped(reason="enough", by_person=True)), "KILLED", "stopped"),
    ],
)
def test_an_search_that_stopped_early_says_why_until_it_is_resumed(key, journal, folder, last, status, tag):
    last(journal)
    stopped = synced(folder)
    run = parent(stopped)
    assert (run.info.status, run.data.tags[tag]) == (status, "enough")
    journals.opened(key, folder)
    again = synced(folder)
    assert (again.run_id, parent(again).info.status) == (stopped.run_id, "RUNNING")
    assert tag not in parent(again).data.tags


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"f_lf": 0.5, "f_hf": -1.0}, "solved"),
        ({"f_lf": 0.5}, "scored"),
        ({"eliminated": "it cannot become an elite"}, "eliminated"),
        ({"failure": "duplicate of g00-c00"}, "duplicate"),
        ({"duplicate_of": "g00-c00"}, "chooses_alike"),
        ({"failure": "screened out: 0.4 times as fast as RPB"}, "screened_out"),
        ({"failure": "Line 1: no."}, "failed"),
    ],
)
def test_outcomes(known, expected):
    sample = Sample(id="g01-c00", generation=1, operator="m1", source=journals.SOURCE, **known)
    assert outcome(sample) == expected
