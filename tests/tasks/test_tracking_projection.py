import contextlib
import itertools
import json
import sqlite3
import uuid

import pytest
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from bife_core.evolution import files as reports
from bife_core.evolution.journal import Stopped
from bife_core.search import Sample
from tasks.progress import listening
from tasks.tracking import Projection, deliver_waiting, mark_interrupted, outage, store
from tasks.tracking.sample_runs import outcome
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

_seconds = itertools.count()
GOOD = {"f_lf": 0.5, "f_hf": -2.0, "attempts": TRIED_TWICE}
BROKEN = {"failure": "Line 2: names must be defined."}
SILENT = {"source": None, "failure": "The answer holds no code.", "attempts": (attempt(answer="no"),)}


@pytest.fixture
def key():
    return uuid.uuid4().hex[:16]


@pytest.fixture
def folder(home, key):
    return home / "runs" / key


@pytest.fixture
def journal(key, folder):
    return journals.opened(key, folder)


def synced(folder):
    projection = Projection(folder)
    assert projection.sync()
    return projection


def children(projection):
    return {run.data.tags["sample_id"]: run for run in store.children(store.EVOLUTION, projection.run_id)}


def traces(projection):
    return store.client().search_traces(
        locations=[store.experiment_id(store.EVOLUTION)], run_id=projection.run_id, max_results=500
    )


def points(projection, metric="samples"):
    history = store.client().get_metric_history(projection.run_id, metric)
    return [(point.step, point.value) for point in history]


def parent(projection):
    return store.client().get_run(projection.run_id)


def artifacts(run_id):
    return {entry.path for entry in store.client().list_artifacts(run_id)}


def test_a_search_that_has_begun_is_found_with_what_defines_it(journal, folder):
    run = parent(synced(folder))
    assert (run.info.status, run.info.run_name) == ("RUNNING", "an evolution")
    assert run.info.start_time == int(journal.entries[0].at_unix_s * 1000)
    assert run.data.params == {"search.seed": "0"}
    assert (run.data.tags["kind"], run.data.tags["benchmark"]) == ("evolution", "toys")


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
    drafted, ended = journal.entries[2], journal.entries[-1]
    assert run.info.start_time == int(drafted.at_unix_s * 1000)
    assert run.info.end_time == int(ended.at_unix_s * 1000)


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
    assert json.loads(good.info.trace_metadata["mlflow.trace.cost"])["total_cost"] == 0.25
    span = good.data.spans[0]
    assert (span.inputs["operator"], span.inputs["generation"]) == ("m1", 1)
    assert span.outputs == "a rule"
    assert good.info.request_preview == "g01-c00.2: m1 in generation 1"


def test_calls_of_a_request_without_an_answer_are_traced_once_whatever_comes_of_it(journal, folder):
    add_unanswered(journal, "g01-c09", attempts=TRIED_TWICE[:1])
    projection = synced(folder)
    assert len(traces(projection)) == 1
    assert children(projection) == {}
    add_sample(journal, "g01-c09", attempts=TRIED_TWICE)
    for one in (projection, Projection(folder)):
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


def test_a_child_left_half_written_is_completed(journal, folder):
    projection = synced(folder)
    tags = {"sample_id": "g01-c00", "kind": "sample"}
    run = store.create_child(store.EVOLUTION, projection.run_id, "g01-c00", tags)
    add_sample(journal, **GOOD)
    when = int(journal.entries[-1].at_unix_s * 1000)
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


def test_a_search_without_a_rule_ends_too(journal, folder):
    add_end(journal, best=None)
    tags = parent(synced(folder)).data.tags
    assert tags["best_sample"] == "none"
    assert tags["mlflow.note.content"].startswith("No sampled rule was of use")


def test_a_finished_evolution_is_left_alone(key, journal, folder):
    add_end(journal)
    first = synced(folder)
    journals.opened(key, folder)
    again = synced(folder)
    assert again.complete
    assert again.run_id == first.run_id
    assert parent(again).info.status == "FINISHED"
    mark_interrupted("Interrupted.")
    assert parent(again).info.status == "FINISHED"


def test_an_evolution_that_a_limit_ended_is_taken_up_again(key, journal, folder):
    add_end(journal, ended_by="budget.calls is used up.")
    ended = synced(folder)
    assert not ended.complete
    run = parent(ended)
    assert (run.info.status, run.data.tags["ended_by"]) == ("KILLED", "budget.calls is used up.")
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


def test_a_run_that_somebody_deleted_is_made_anew_with_all_that_the_folder_has(journal, folder, no_patience):
    add_search(journal, 1)
    projection = synced(folder)
    lost = projection.run_id
    store.client().delete_run(lost)
    add_generation(journal, 1, samples=3)
    for _ in range(3):
        projection.sync()
    assert (projection.waiting, projection.notes) == (0, ())
    assert projection.run_id != lost
    assert len(children(projection)) == 4
    assert points(projection) == [(0, 3.0), (1, 3.0)]


@contextlib.contextmanager
def broken_store(home):
    """Take a table away from MLflow's database for a while."""
    database = home / "mlflow" / "mlflow.db"
    store.client()  # makes it

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
    monkeypatch.setattr(outage, "RETRY_S", 0.0)


def test_a_store_that_fails_for_a_while_loses_and_doubles_nothing(journal, folder, home, no_patience):
    heard = []
    projection = Projection(folder)
    with listening(lambda done, total: None, heard.append):
        with broken_store(home):
            add_sample(journal, **GOOD)
            for _ in range(3):
                assert not projection.sync()
            add_generation(journal, 1)
            assert not projection.sync()
            assert projection.waiting > 2
            assert "not, or not whole, in MLflow, because sqlite:///" in deliver_waiting()
        add_sample(journal, "g01-c01", **BROKEN)
        assert projection.sync()
    assert (projection.waiting, projection.notes) == (0, ())
    assert deliver_waiting() is None
    assert len(heard) == 2
    assert "they are kept on disk until it does" in heard[0]
    assert heard[1].endswith("takes records again.")
    runs = children(projection)
    assert {name: run.info.status for name, run in runs.items()} == {
        "g01-c00": "FINISHED",
        "g01-c01": "FAILED",
    }
    assert runs["g01-c00"].data.metrics["f_lf"] == 0.5
    assert len(traces(projection)) == 2
    assert points(projection) == [(1, 1.0)]


def test_what_a_killed_process_left_is_delivered_by_whoever_comes_next(journal, folder, home, no_patience):
    add_search(journal, 3)
    add_end(journal)
    with broken_store(home):
        assert not Projection(folder).sync()
    assert deliver_waiting() is None
    again = Projection(folder)
    assert again.sync()
    assert again.complete
    assert points(again) == [(0, 3.0), (1, 6.0), (2, 9.0)]
    assert len(children(again)) == 3 * 4
    times = [point.timestamp for point in store.client().get_metric_history(again.run_id, "samples")]
    assert times == sorted(times)


def test_a_store_that_is_away_is_not_asked_at_each_look(journal, folder, home, monkeypatch):
    asked = []
    monkeypatch.setattr(store, "open_run", lambda *args, **known: asked.append(args) or _away())
    monkeypatch.setattr(outage.outage, "_retry_at_s", 0.0)
    projection = Projection(folder)
    for _ in range(3):
        assert not projection.sync()
    assert len(asked) == 1
    assert not projection.sync(now=True)
    assert len(asked) == 2
    monkeypatch.undo()
    assert projection.sync(now=True)


def _away():
    raise MlflowException("the server is away")


def test_an_entry_that_is_refused_does_not_hold_up_the_others(key, folder):
    journal = journals.opened(key, folder, params={"a name that is not§allowed": 1})
    add_generation(journal, 1)
    projection = synced(folder)
    assert projection.waiting == 0
    assert points(projection) == [(1, 1.0)]
    (note,) = projection.notes
    assert "MLflow refused a record" in note
    assert "'opened'" in note


def test_an_entry_refused_because_another_machine_wrote_it_at_that_moment_is_written_once_more(
    journal, folder, monkeypatch
):
    projection = synced(folder)
    add_sample(journal, **GOOD)
    create, refused = store.create_child, []

    def meanwhile(*args, **known):
        made = create(*args, **known)
        if not refused:
            refused.append(made)
            raise MlflowException("exists", error_code=1)  # BAD_REQUEST
        return made

    monkeypatch.setattr(store, "create_child", meanwhile)
    monkeypatch.setattr(MlflowException, "get_http_status_code", lambda error: 400)
    assert projection.sync()
    assert projection.notes == ()
    assert len(store.children(store.EVOLUTION, projection.run_id)) == 1


WRITES = (
    "create_run",
    "log_batch",
    "log_artifact",
    "log_text",
    "log_inputs",
    "set_tag",
    "delete_tag",
    "update_run",
    "set_terminated",
)


class Flaky:
    """MLflow's client, whose n-th write is lost: before it has done anything, or after."""

    def __init__(self, client, fatal, *, after):
        self._client, self._left, self._after = client, fatal, after
        self.met = False

    def __getattr__(self, name):
        call = getattr(self._client, name)
        return self._counted(call) if name in WRITES else call

    def _counted(self, call):
        def counted(*args, **known):
            self._left -= 1
            if self._left != 0:
                return call(*args, **known)
            self.met = True
            if self._after:
                call(*args, **known)
            raise MlflowException("Connection reset by peer")

        return counted


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_server_lost_at_any_write_gives_one_run_and_nothing_doubled(home, no_patience, monkeypatch, after):
    fatal = 0
    whole = store.client()
    while True:
        fatal += 1
        folder = home / "runs" / uuid.uuid4().hex[:16]
        journal = journals.opened(folder.name, folder)
        write_files(folder, [add_sample(journal, **GOOD), add_sample(journal, "g01-c01", **BROKEN)])
        add_reflection(journal)
        add_generation(journal, 1)
        add_end(journal)
        flaky = Flaky(whole, fatal, after=after)
        projection = Projection(folder)
        monkeypatch.setattr(store, "client", lambda flaky=flaky: flaky)
        assert projection.sync() is not flaky.met
        monkeypatch.setattr(store, "client", lambda: whole)
        if not flaky.met:
            break
        # By turns the same process goes on, or another one.
        projection = Projection(folder) if (fatal + after) % 2 else projection
        assert projection.sync()
        found = list(store.find_runs(store.EVOLUTION, f"tags.`bife.key` = '{folder.name}'"))
        assert [run.info.status for run in found] == ["FINISHED"]
        runs = store.children(store.EVOLUTION, projection.run_id)
        assert sorted(run.data.tags["sample_id"] for run in runs) == ["g01-c00", "g01-c01", "g01-r00"]
        assert {run.info.status for run in runs} == {"FINISHED", "FAILED"}
        assert points(projection) == [(1, 1.0)]
        assert points(projection, "final_f_hf") == [(0, -2.0)]
        assert len(traces(projection)) == 3
        for run in runs:
            for metric in run.data.metrics:
                assert len(store.client().get_metric_history(run.info.run_id, metric)) == 1
    assert fatal > 15


@pytest.mark.parametrize("request_", ["log_spans", "start_trace"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_trace_of_which_a_server_took_half_is_there_once_and_whole(
    journal, folder, no_patience, monkeypatch, request_, after
):
    write, calls = getattr(TracingClient, request_), []

    def lost(client, *args):
        calls.append(args)
        if len(calls) > 1:
            return write(client, *args)
        if after:
            write(client, *args)
        raise MlflowException("Connection reset by peer")

    projection = synced(folder)
    began = 2_000_000_000.0 + next(_seconds)
    pair = [attempt(answer=name, started_unix_s=began) for name in ("one", "two")]
    add_sample(journal, attempts=pair)
    monkeypatch.setattr(TracingClient, request_, lost)
    projection.sync()
    assert projection.sync()
    since = int(began * 1000)
    found = store.client().search_traces(
        locations=[store.experiment_id(store.EVOLUTION)], filter_string=f"timestamp_ms = {since}"
    )
    assert sorted(trace.info.tags["bife.call"] for trace in found) == ["g01-c00.1", "g01-c00.2"]
    assert sorted(trace.data.spans[0].outputs for trace in found) == ["one", "two"]
    assert len(traces(projection)) == 2


class Statements:
    """Counts what MLflow's store is asked."""

    def __enter__(self):
        self.count = 0
        event.listen(Engine, "before_cursor_execute", self._met)
        return self

    def __exit__(self, *_):
        event.remove(Engine, "before_cursor_execute", self._met)

    def _met(self, *_):
        self.count += 1


def test_the_fiftieth_generation_costs_what_the_second_did(journal, folder):
    projection = synced(folder)
    costs, samples = {}, []
    for step in range(50):
        name = f"g{step:02d}-c00"
        calls = (attempt(answer="a rule", started_unix_s=1_700_000_000.0 + 60 * step),)
        samples.append(add_sample(journal, name, f_lf=0.5, f_hf=-2.0, attempts=calls))
        write_files(folder, samples)
        add_generation(journal, step, samples=len(samples))
        if step in (0, 1, 48, 49):
            with Statements() as asked:
                assert projection.sync()
            costs[step] = asked.count
    assert costs[49] == costs[1] > 10
    assert len(children(projection)) == len(traces(projection)) == 50


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
