"""What a search's journal becomes in MLflow."""

import json
import time

import pytest

from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.search import Sample, SampleRequest
from bife_core.study import files as reports
from bife_core.study.journal import Drafted, HighScored, Referred, Scored, Stopped
from tasks.tracking import EvolutionRun, mark_interrupted, store
from tasks.tracking import traces as tracing
from tasks.tracking.samples import outcome
from tasks.tracking.traces import calls_of
from tests.support import journals
from tests.support.journals import (
    TRIED_TWICE,
    add_draft,
    add_end,
    add_generation,
    add_reflection,
    add_sample,
    add_search,
    add_unanswered,
    attempt,
    write_files,
)
from tests.support.measured import solved
from tests.support.tracked import BROKEN, GOOD, artifacts, children, parent, points, synced, traces

SILENT = {"source": None, "failure": "The answer holds no code.", "attempts": (attempt(answer="no"),)}


def test_a_search_that_has_begun_is_found_with_what_defines_it(journal, folder):
    run = parent(synced(folder))
    assert (run.info.status, run.info.run_name) == ("RUNNING", "an evolution")
    assert run.info.start_time == int(journal.entries[0].at_unix_s * 1000)
    assert run.data.params == {"search.seed": "0"}
    assert (run.data.tags["kind"], run.data.tags["benchmark"]) == ("evolution", "toys")


def test_every_run_says_who_or_what_it_comes_from(key, journal, folder):
    journals.opened(key, folder, {"mlflow.user": "ada", "prefect.flow_run_id": "1"})
    add_sample(journal, **GOOD)
    first = synced(folder)
    for run in (parent(first), *children(first).values()):
        assert (run.data.tags["mlflow.user"], run.data.tags["prefect.flow_run_id"]) == ("ada", "1")
    again = journals.opened(key, folder, {"mlflow.user": "bob"})
    add_sample(again, "g01-c01", **BROKEN)
    taken_up = synced(folder)
    users = {name: run.data.tags["mlflow.user"] for name, run in children(taken_up).items()}
    assert users == {"g01-c00": "ada", "g01-c01": "bob"}
    tags = parent(taken_up).data.tags
    assert tags["mlflow.user"] == "bob"
    assert "prefect.flow_run_id" not in tags


def test_only_prompts_of_operators_that_were_asked_are_linked(key, folder):
    journal = journals.opened(key, folder, prompts=True)
    add_sample(journal, **GOOD)
    add_sample(journal, "g01-c02", f_lf=0.5)  # an operator that no call was made for
    add_unanswered(journal, attempts=TRIED_TWICE[:1])
    linked = json.loads(parent(synced(folder)).data.tags["mlflow.linkedPrompts"])
    assert sorted(prompt["name"] for prompt in linked) == ["bife_prompt_e1", "bife_prompt_m1"]


def test_a_sample_becomes_a_child_run_with_everything_known(journal, folder):
    add_sample(journal, **GOOD)
    run = children(synced(folder))["g01-c00"]
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "generation": "1",
        "operator": "m1",
        "llm_model": "stand-in",
        "generator": "openai",
    }
    measured = run.data.metrics
    assert (measured["f_lf"], measured["f_hf"], measured["cost_usd"]) == (0.5, -2.0, 0.25)
    assert (measured["f_lf_seconds"], measured["solve_cpu_s"]) == (0.5, 3.0)
    assert measured["ast_nodes"] > 0
    tags = run.data.tags
    assert (tags["kind"], tags["rule_sha"], tags["parents"]) == ("sample", "abc", "g00-c01")
    assert artifacts(run.info.run_id) == {"rule.py", "call.json"}


def test_a_sample_took_from_the_beginning_of_its_draft_to_its_last_score(journal, folder):
    request = SampleRequest(id="g01-c00", generation=1, operator="m1", seed=1)
    drafted = journal.add(Drafted(request=request, draft=journals.draft("g01-c00", seconds=2.5)))
    scored = journal.add(Scored(id="g01-c00", score=LowScore(f_lf=0.5, sha="abc", seconds=0.5)))
    time.sleep(0.05)
    journal.add(journals.Settled(sample=journals.settled(f_lf=0.5)))
    info = children(synced(folder))["g01-c00"].info
    assert info.start_time == int(drafted.at_unix_s * 1000) - 2500
    assert info.end_time == int(scored.at_unix_s * 1000)


def test_failures_keep_their_reason_and_calls_without_a_rule_are_of_their_own_kind(journal, folder):
    add_sample(journal, "g01-c01", **BROKEN)
    add_sample(journal, "g01-c02", **SILENT)
    runs = children(synced(folder))
    broken, silent = runs["g01-c01"], runs["g01-c02"]
    assert (broken.data.tags["kind"], broken.info.status) == ("sample", "FAILED")
    assert (silent.data.tags["kind"], silent.data.tags["outcome"]) == ("call", "no_rule")
    assert artifacts(broken.info.run_id) == {"rule.py", "error.txt"}


def test_a_reflection_is_a_child_of_its_own_kind(journal, folder):
    add_reflection(journal)
    projection = synced(folder)
    run = children(projection)["g01-r00"]
    assert (run.data.tags["kind"], run.info.status) == ("reflection", "FINISHED")
    assert (run.data.params["operator"], run.data.metrics["prompt_tokens"]) == ("short_term_reflection", 3)
    assert artifacts(run.info.run_id) == {"reflection.txt", "call.json"}
    assert [trace.info.tags["bife.call"] for trace in traces(projection)] == ["g01-r00.1"]


def test_every_attempt_is_a_trace_tied_to_the_parent_run(journal, folder):
    add_sample(journal, **GOOD)
    add_sample(journal, "g01-c02", **SILENT)
    found = {trace.info.tags["bife.call"]: trace for trace in traces(synced(folder))}
    assert set(found) == {"g01-c00.1", "g01-c00.2", "g01-c02.1"}
    assert found["g01-c00.1"].info.state == "ERROR"
    good = found["g01-c00.2"]
    assert good.info.execution_duration == 2000
    assert good.info.token_usage["total_tokens"] == 15
    cost = json.loads(good.info.trace_metadata["mlflow.trace.cost"])
    assert cost == {"input_cost": 0.2, "output_cost": 0.05, "total_cost": 0.25}
    span = good.data.spans[0]
    assert (span.inputs["operator"], span.inputs["generation"]) == ("m1", 1)
    assert span.outputs == "a rule"
    assert good.info.request_preview == "g01-c00.2: m1 in generation 1"


def test_a_call_that_was_repaired_is_traced_with_what_it_was_asked():
    asked = tuple(journals.Message(role=role, content=role) for role in ("user", "assistant", "user"))
    written = journals.draft("g01-c00", attempts=(journals.attempt(asked=1), journals.attempt(asked=3)))
    request = journals.SampleRequest(id="g01-c00", generation=1, operator="m1", seed=1)
    entry = journals.Drafted(request=request, draft=written.model_copy(update={"messages": asked}))
    assert [call.messages for call in calls_of(entry)] == [asked[:1], asked]


def test_calls_of_a_request_without_an_answer_are_traced_once_whatever_comes_of_it(journal, folder):
    add_unanswered(journal, "g01-c09", attempts=TRIED_TWICE[:1])
    projection = synced(folder)
    assert len(traces(projection)) == 1
    assert children(projection) == {}
    add_sample(journal, "g01-c09", attempts=TRIED_TWICE)
    for one in (projection, EvolutionRun(folder.name)):
        assert one.sync()
        assert {trace.info.tags["bife.call"] for trace in traces(one)} == {"g01-c09.1", "g01-c09.2"}
        assert len(traces(one)) == 2


def test_a_sample_that_is_not_settled_has_its_calls_traced_and_no_child(journal, folder):
    add_draft(journal, **GOOD)
    projection = synced(folder)
    assert len(traces(projection)) == 2
    assert children(projection) == {}


def test_what_was_known_before_a_sample_is_settled_is_not_forgotten_between_two_looks(journal, folder):
    add_draft(journal, **GOOD)
    projection = synced(folder)
    journal.add(journals.Settled(sample=journals.settled(f_lf=0.5, f_hf=-2.0)))
    assert projection.sync()
    run = children(projection)["g01-c00"]
    assert (run.data.metrics["f_lf_seconds"], run.data.params["generator"]) == (0.5, "openai")
    assert projection.samples == 1


def test_looking_again_doubles_nothing_not_even_from_another_process(key, folder):
    for _ in range(2):
        journal = journals.opened(key, folder)
        if len(journal.entries) == 2:
            add_search(journal, 2)
        projection = synced(folder)
        assert projection.sync()
    assert len(store.children(store.EVOLUTION, projection.run_id)) == 2 * 4
    assert len(traces(projection)) == 2 * 7
    assert points(projection) == [(0, 3.0), (1, 6.0)]


def test_a_signal_amid_a_delivery_doubles_nothing(journal, folder, monkeypatch):
    projection, store_one = synced(folder), tracing._store
    for name in ("g00-c00", "g00-c01"):
        add_sample(journal, name, **GOOD)

    def signalled(call, *rest):
        store_one(call, *rest)
        if call.name.startswith("g00-c01"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tracing, "_store", signalled)
        with pytest.raises(KeyboardInterrupt):
            projection.sync()
    assert len(traces(projection)) == 3
    assert projection.sync()
    assert len(traces(projection)) == 4
    assert len(children(projection)) == 2


def test_a_child_left_half_written_is_completed(journal, folder):
    projection = synced(folder)
    tags = {"sample_id": "g01-c00", "kind": "sample"}
    run = store.create_child(store.EVOLUTION, projection.run_id, "g01-c00", tags)
    add_sample(journal, **GOOD)
    scored = next(entry for entry in journal.entries if isinstance(entry, Scored))
    when = int(scored.at_unix_s * 1000)
    store.log(run.info.run_id, metrics={"f_lf": 0.5}, params={"generation": 1}, time_ms=when)
    again = synced(folder)
    completed = children(again)["g01-c00"]
    assert (completed.info.run_id, completed.info.status) == (run.info.run_id, "FINISHED")
    assert len(store.client().get_metric_history(run.info.run_id, "f_lf")) == 1


def test_a_generation_has_its_points_at_its_own_time_and_the_files_of_the_folder(journal, folder):
    sample = add_sample(journal, **GOOD)
    write_files(folder, [sample])
    add_generation(journal, 1)
    projection = synced(folder)
    (point,) = store.client().get_metric_history(projection.run_id, "samples")
    assert (point.step, point.value) == (1, 1.0)
    assert point.timestamp == int(journal.entries[-1].at_unix_s * 1000)
    measured = parent(projection).data.metrics
    assert (measured["cost_usd"], measured["mean_f_hf"], measured["solve_cpu_s"]) == (0.25, -2.0, 3.0)
    assert artifacts(projection.run_id) == {reports.SAMPLES, reports.LINEAGE}
    table = store.client().load_table(
        store.experiment_id(store.EVOLUTION), reports.SAMPLES, [projection.run_id]
    )
    assert list(table["id"]) == ["g01-c00"]


def test_half_a_table_that_a_kill_left_behind_is_left_out(journal, folder):
    (folder / reports.SAMPLES).write_text('[{"id": "g0')
    add_generation(journal, 1)
    projection = synced(folder)
    assert points(projection) == [(1, 1.0)]
    assert artifacts(projection.run_id) == set()


def test_an_end_has_its_files_its_numbers_and_its_status(journal, folder):
    write_files(folder, [add_sample(journal, **GOOD)])
    add_end(journal)
    projection = synced(folder)
    run = parent(projection)
    assert projection.complete
    assert (run.info.status, run.info.end_time) == ("FINISHED", int(journal.entries[-1].at_unix_s * 1000))
    assert (run.data.metrics["final_f_hf"], run.data.metrics["design_s"]) == (-2.0, 2.0)
    tags = run.data.tags
    assert (tags["best_sample"], tags["best_sha"], tags["ended_by"]) == ("g01-c00", "abc", "search.samples")
    assert tags["mlflow.note.content"].startswith("**g01-c00**")
    assert {reports.BEST_RULE, reports.COST, reports.SAMPLES} <= artifacts(projection.run_id)


def solve(instance, status="optimal", **known):
    made = solved("relpscost", 0, 1.0).result
    return made.model_copy(update={"instance": instance, "status": status, **known})


def test_the_design_solves_of_rpb_and_of_each_rule_are_a_table_at_the_end(journal, folder):
    journal.add(Referred(reference=Reference(results=(solve("a", cpu_s=2.0, root_s=0.5), None))))
    score = HighScore(f_hf=-3.0, costs=(3.0, None), results=(solve("a", "timelimit", cpu_s=6.0),))
    journal.add(HighScored(id="g01-c00", score=score))
    add_end(journal)
    projection = synced(folder)
    experiment = store.experiment_id(store.EVOLUTION)
    table = store.client().load_table(experiment, "design_solves.json", [projection.run_id])
    known = table[["rule", "instance", "cost", "cpu_s", "capped", "status"]].astype(object)
    rows = [[None if value != value else value for value in row] for row in known.values.tolist()]
    assert rows == [
        ["relpscost", "a", None, 2.0, False, "optimal"],
        ["g01-c00", "a", 3.0, 6.0, True, "timelimit"],
    ]


def test_a_search_without_a_rule_ends_too(journal, folder):
    add_end(journal, best=None)
    tags = parent(synced(folder)).data.tags
    assert tags["best_sample"] == "none"
    assert tags["mlflow.note.content"].startswith("No sampled rule was of use")


def test_a_finished_evolution_is_left_alone_until_it_is_extended(key, journal, folder):
    add_end(journal)
    first = synced(folder)
    again = synced(folder)
    assert (again.complete, again.run_id) == (True, first.run_id)
    mark_interrupted("Interrupted.")
    assert parent(again).info.status == "FINISHED"
    extended = journals.opened(key, folder)
    assert parent(synced(folder)).info.status == "RUNNING"
    add_sample(extended, "g02-c00", **GOOD)
    add_end(extended)
    found = synced(folder)
    assert (found.run_id, parent(found).info.status) == (first.run_id, "FINISHED")
    assert children(found).keys() == {"g02-c00"}


def test_an_evolution_that_a_limit_ended_is_taken_up_again(key, journal, folder):
    add_end(journal, ended_by="budget.calls is used up.")
    ended = synced(folder)
    assert not ended.complete
    run = parent(ended)
    assert (run.info.status, run.data.tags["ended_by"]) == ("FINISHED", "budget.calls is used up.")
    assert run.data.tags["mlflow.note.content"].startswith("budget.calls is used up.\n\n")
    journals.opened(key, folder)
    taken_up = parent(synced(folder))
    assert taken_up.info.status == "RUNNING"
    assert "ended_by" not in taken_up.data.tags


@pytest.mark.parametrize(("by_person", "status"), [(False, "FAILED"), (True, "KILLED")])
def test_a_stopped_evolution_is_taken_up_again(key, journal, folder, by_person, status):
    journal.add(Stopped(reason="the key was refused", by_person=by_person))
    stopped = synced(folder)
    run = parent(stopped)
    assert (run.info.status, run.data.tags["stopped"]) == (status, "the key was refused")
    journals.opened(key, folder)
    again = synced(folder)
    assert again.run_id == stopped.run_id
    assert parent(again).info.status == "RUNNING"
    assert "stopped" not in parent(again).data.tags


def test_an_interrupted_evolution_says_so_and_is_taken_up_again(key, journal, folder):
    projection = synced(folder)
    add_draft(journal, **GOOD)
    mark_interrupted("Interrupted.")
    stopped = parent(projection)
    assert (stopped.info.status, stopped.data.tags["stopped"]) == ("KILLED", "Interrupted.")
    journals.opened(key, folder)
    again = synced(folder)
    assert again.run_id == projection.run_id
    assert parent(again).info.status == "RUNNING"
    assert "stopped" not in parent(again).data.tags


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"f_lf": 0.5, "f_hf": -1.0}, "solved"),
        ({"f_lf": 0.5}, "scored"),
        ({"failure": "duplicate of g00-c00"}, "duplicate"),
        ({"failure": "screened out: 0.4 times as fast as RPB"}, "screened_out"),
        ({"failure": "Line 1: no."}, "failed"),
    ],
)
def test_outcomes(known, expected):
    sample = Sample(id="g01-c00", generation=1, operator="m1", source=journals.SOURCE, **known)
    assert outcome(sample) == expected
