import contextlib
import json
import sqlite3
import uuid

import pytest

from bife_core.generators import Attempt, Draft, Message
from bife_core.search import Sample, SampleRequest
from tasks.progress import listening
from tasks.records import SampleRecord
from tasks.tracking import deliver_waiting, spool, store
from tasks.tracking.evolution import EvolutionTracker, mark_interrupted, outcome

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[18]\n"


def attempt(status="ok", **known):
    known = {"started_unix_s": 1_700_000_000.0, "seconds": 2.0, "status": status} | known
    return Attempt(**known)


def record(name="g01-c00", *, attempts=(), source=SOURCE, **known):
    request = SampleRequest(id=name, generation=1, operator="m1", seed=1)
    generation = Draft(
        key=name,
        generator="openai",
        model="stand-in",
        messages=(Message(role="user", content="write a rule"),),
        attempts=attempts,
        source=source,
    )
    known = {"sha": "abc" if source else None, "source": source, "parents": ("g00-c01",)} | known
    sample = Sample(id=name, generation=1, operator="m1", **known)
    return SampleRecord(request=request, generation=generation, sample=sample)


GOOD = record(
    f_lf=0.5,
    f_hf=-2.0,
    attempts=(
        attempt("error", error="HTTP 500", http_status=500),
        attempt(answer="a rule", prompt_tokens=10, completion_tokens=5, cost_usd=0.25),
    ),
)
BROKEN = record("g01-c01", failure="Line 2: names must be defined.")
SILENT = record("g01-c02", source=None, failure="The answer holds no code.", attempts=(attempt(answer="no"),))


@pytest.fixture
def key():
    return uuid.uuid4().hex[:16]


def opened(key):
    return EvolutionTracker(key, "an evolution", {"search.seed": 0}, {"benchmark": "toys"})


def children(tracker):
    return {run.data.tags["sample_id"]: run for run in store.children(store.EVOLUTION, tracker.run_id)}


def traces(tracker):
    return store.client().search_traces(
        locations=[store.experiment_id(store.EVOLUTION)], run_id=tracker.run_id, max_results=50
    )


def test_a_sample_becomes_a_child_run_with_everything_known(key):
    tracker = opened(key)
    tracker.samples([GOOD])
    run = children(tracker)["g01-c00"]
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "generation": "1",
        "operator": "m1",
        "llm_model": "stand-in",
        "generator": "openai",
    }
    measured = run.data.metrics
    assert (measured["f_lf"], measured["f_hf"], measured["cost_usd"]) == (0.5, -2.0, 0.25)
    assert measured["ast_nodes"] > 0
    tags = run.data.tags
    assert (tags["kind"], tags["rule_sha"], tags["parents"]) == ("sample", "abc", "g00-c01")
    client = store.client()
    assert {entry.path for entry in client.list_artifacts(run.info.run_id)} == {"rule.py", "call.json"}


def test_failures_keep_their_reason_and_calls_without_a_rule_are_of_their_own_kind(key):
    tracker = opened(key)
    tracker.samples([BROKEN, SILENT])
    runs = children(tracker)
    broken, silent = runs["g01-c01"], runs["g01-c02"]
    assert (broken.data.tags["kind"], broken.info.status) == ("sample", "FAILED")
    assert (silent.data.tags["kind"], silent.data.tags["outcome"]) == ("call", "no_rule")
    paths = {entry.path for entry in store.client().list_artifacts(broken.info.run_id)}
    assert paths == {"rule.py", "error.txt"}


def test_every_attempt_is_a_trace_tied_to_the_parent_run(key):
    tracker = opened(key)
    tracker.samples([GOOD, SILENT])
    found = {trace.info.tags["bife.call"]: trace for trace in traces(tracker)}
    assert set(found) == {"g01-c00.1", "g01-c00.2", "g01-c02.1"}
    assert found["g01-c00.1"].info.state == "ERROR"
    good = found["g01-c00.2"]
    assert good.info.execution_duration == 2000
    assert good.info.token_usage["total_tokens"] == 15
    assert json.loads(good.info.trace_metadata["mlflow.trace.cost"])["total_cost"] == 0.25
    span = good.data.spans[0]
    assert (span.inputs["operator"], span.inputs["generation"]) == ("m1", 1)
    assert span.outputs == "a rule"
    assert good.info.request_preview == "g01-c00.2: m1 in generation 1"


def test_telling_it_again_doubles_nothing_not_even_from_another_process(key):
    for _ in range(2):
        tracker = opened(key)
        for _ in range(2):
            tracker.samples([GOOD, BROKEN, SILENT])
            tracker.generation(1, {"samples": 3.0}, rows=[{"id": "g01-c00"}], files=[])
    assert len(children(tracker)) == 3
    assert len(store.children(store.EVOLUTION, tracker.run_id)) == 3
    assert len(traces(tracker)) == 3
    assert len(store.client().get_metric_history(tracker.run_id, "samples")) == 1


def test_a_child_left_half_written_is_completed(key):
    tracker = opened(key)
    tags = {"sample_id": "g01-c00", "kind": "sample"}
    run = store.create_child(store.EVOLUTION, tracker.run_id, "g01-c00", tags)
    store.log(run.info.run_id, metrics={"f_lf": 0.5}, params={"generation": 1}, time_ms=run.info.start_time)
    again = opened(key)
    again.samples([GOOD])
    completed = children(again)["g01-c00"]
    assert completed.info.run_id == run.info.run_id
    assert completed.info.status == "FINISHED"
    assert len(store.client().get_metric_history(run.info.run_id, "f_lf")) == 1


def test_calls_of_a_generation_that_stopped_are_traced_without_a_child(key):
    tracker = opened(key)
    tracker.samples([GOOD.model_copy(update={"sample": None})])
    assert len(traces(tracker)) == 2
    assert children(tracker) == {}


def test_a_finished_evolution_is_left_alone(key, tmp_path):
    tracker = opened(key)
    file = tmp_path / "best_rule.py"
    file.write_text(SOURCE)
    tracker.finish([file], {"final_f_hf": -2.0}, {"best_sample": "g01-c00"})
    again = opened(key)
    assert again.complete
    again.finish([], {"final_f_hf": -9.0}, {})
    run = store.client().get_run(tracker.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.metrics["final_f_hf"] == -2.0


def test_a_stopped_evolution_is_taken_up_again(key):
    tracker = opened(key)
    tracker.stop("the key was refused")
    stopped = store.client().get_run(tracker.run_id)
    assert (stopped.info.status, stopped.data.tags["stopped"]) == ("FAILED", "the key was refused")
    assert opened(key).run_id == tracker.run_id
    assert store.client().get_run(tracker.run_id).info.status == "RUNNING"


@contextlib.contextmanager
def broken_store(home):
    """Take a table away from MLflow's database for a while."""
    database = home / "mlflow" / "mlflow.db"

    def rename(old, new):
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA legacy_alter_table = ON")
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    rename("metrics", "metrics_away")
    try:
        yield
    finally:
        rename("metrics_away", "metrics")


@pytest.fixture
def no_patience(monkeypatch):
    """Try a store that failed again at once."""
    monkeypatch.setattr(spool, "RETRY_S", 0.0)


def test_a_store_that_fails_for_a_while_loses_and_doubles_nothing(key, home, no_patience):
    heard = []
    with listening(lambda done, total: None, heard.append):
        tracker = opened(key)
        with broken_store(home):
            for _ in range(3):
                tracker.samples([GOOD])
            tracker.generation(1, {"samples": 1.0}, rows=[{"id": "g01-c00"}], files=[])
            assert tracker.waiting == 2
            assert "2 records are kept in" in deliver_waiting()
        tracker.samples([GOOD, BROKEN])
    assert tracker.waiting == 0
    assert deliver_waiting() is None
    assert len(heard) == 2
    assert "they are kept on disk until it does" in heard[0]
    assert heard[1].endswith("takes records again.")
    runs = children(tracker)
    assert {name: run.info.status for name, run in runs.items()} == {
        "g01-c00": "FINISHED",
        "g01-c01": "FAILED",
    }
    assert runs["g01-c00"].data.metrics["f_lf"] == 0.5
    assert len(traces(tracker)) == 2
    assert len(store.client().get_metric_history(tracker.run_id, "samples")) == 1


def test_records_of_a_process_that_was_killed_are_delivered_by_the_next_one_in_order(key, home, no_patience):
    tracker = opened(key)
    with broken_store(home):
        for step in range(3):
            tracker.generation(step, {"samples": float(step)}, rows=[], files=[])
        tracker.finish([], {"final_f_hf": -2.0}, {"best_sample": "g01-c00"})
    del tracker
    again = opened(key)
    assert again.complete
    assert again.waiting == 0
    history = store.client().get_metric_history(again.run_id, "samples")
    assert [(point.step, point.value) for point in history] == [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert [point.timestamp for point in history] == sorted(point.timestamp for point in history)
    assert store.client().get_run(again.run_id).info.status == "FINISHED"


def test_a_record_that_is_refused_does_not_hold_up_the_others(key):
    tracker = opened(key)
    tracker.finish([], {"a name/that:is, not§allowed": 1.0}, {})
    tracker.generation(1, {"samples": 1.0}, rows=[], files=[])
    assert tracker.waiting == 0
    assert len(store.client().get_metric_history(tracker.run_id, "samples")) == 1
    (note,) = tracker.notes
    assert "MLflow refused a record" in note
    assert len(list(tracker._spool.directory.glob("rejected/*.json"))) == 1


def test_a_record_refused_because_another_machine_told_it_at_that_moment_is_told_once_more(key):
    first, second = (store.open_run(store.EVALUATION, f"{key}-{name}", "a run", {})[0] for name in "ab")
    told = []

    def tell(run_id):
        # What another machine has written meanwhile is in the way of the first attempt.
        told.append(run_id)
        store.client().log_param(run_id if len(told) > 1 else first, "rule", run_id)

    store.client().log_param(first, "rule", "another")
    waiting = spool.Spool(key, {"rule": tell})
    waiting.add("rule", run_id=second)
    assert told == [second, second]
    assert (len(waiting), waiting.rejections) == (0, [])
    assert store.client().get_run(second).data.params == {"rule": second}


def test_an_interrupted_evolution_says_so_and_is_taken_up_again(key):
    tracker = opened(key)
    mark_interrupted("Interrupted.")
    stopped = store.client().get_run(tracker.run_id)
    assert (stopped.info.status, stopped.data.tags["stopped"]) == ("KILLED", "Interrupted.")
    again = opened(key)
    assert again.run_id == tracker.run_id
    taken_up = store.client().get_run(again.run_id)
    assert taken_up.info.status == "RUNNING"
    assert "stopped" not in taken_up.data.tags


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
    assert outcome(record(**known)) == expected
