"""What MLflow lacks is delivered whatever its server does: once, in order, and at a cost that does not grow."""

import contextlib
import itertools
import sqlite3
import uuid

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.tracing.client import TracingClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tasks.stores import listening
from tasks.tracking import EvolutionRun, evolutions, outage, store, synchronise_waiting
from tests.support import journals
from tests.support.journals import (
    add_end,
    add_generation,
    add_reflection,
    add_sample,
    add_search,
    attempt,
    write_files,
)
from tests.support.tracked import BROKEN, GOOD, children, parent, points, synced, traces

_seconds = itertools.count()


@pytest.fixture
def no_patience(monkeypatch):
    """Try a store that failed again at once."""
    monkeypatch.setattr(outage, "RETRY_S", 0.0)


def test_a_run_that_somebody_deleted_is_made_anew_with_all_that_the_folder_has(journal, folder, no_patience):
    add_search(journal, 1)
    projection = synced(folder)
    lost = projection.run_id
    store.client().delete_run(lost)
    add_generation(journal, 1, samples=3)
    projection.sync()
    assert projection.sync()
    assert projection.notes == ()
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


def test_a_store_that_fails_for_a_while_loses_and_doubles_nothing(journal, folder, home, no_patience):
    heard = []
    projection = EvolutionRun(folder.name)
    with listening(lambda done, total: None, heard.append):
        with broken_store(home):
            add_sample(journal, **GOOD)
            for _ in range(3):
                assert not projection.sync()
            add_generation(journal, 1)
            assert not projection.sync()
            left = synchronise_waiting()
            assert (left.records, left.runs) == (2, 1)  # what came before is there
            assert "not, or not whole, there, because sqlite:///" in left.sentence
        add_sample(journal, "g01-c01", **BROKEN)
        assert projection.sync()
    assert projection.notes == ()
    assert synchronise_waiting() is None
    assert len(heard) == 2
    assert "the store keeps them until it does" in heard[0]
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
        assert not EvolutionRun(folder.name).sync()
    assert synchronise_waiting() is None
    again = EvolutionRun(folder.name)
    assert again.sync()
    assert again.complete
    assert points(again) == [(0, 3.0), (1, 6.0), (2, 9.0)]
    assert len(children(again)) == 3 * 4
    times = [point.timestamp for point in store.client().get_metric_history(again.run_id, "samples")]
    assert times == sorted(times)


def test_a_store_that_is_away_is_not_asked_at_each_look(journal, folder, home, monkeypatch):
    asked = []
    monkeypatch.setattr(store, "open_run", lambda *args, **known: asked.append(args) or _away())
    projection = EvolutionRun(folder.name)
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
@pytest.mark.parametrize(
    "lost",
    [
        "every third",
        pytest.param("by turns", marks=pytest.mark.long),
        pytest.param("before", marks=pytest.mark.long),
        pytest.param("after", marks=pytest.mark.long),
    ],
)
def test_a_server_lost_at_any_write_gives_one_run_and_nothing_doubled(home, no_patience, monkeypatch, lost):
    fatal, step = 0, 3 if lost == "every third" else 1
    whole = store.client()
    while True:
        fatal += step
        after = lost == "after" or (lost in ("by turns", "every third") and fatal % 2 == 0)
        folder = home / "runs" / uuid.uuid4().hex[:16]
        journal = journals.opened(folder.name, folder)
        write_files(folder, [add_sample(journal, **GOOD), add_sample(journal, "g01-c01", **BROKEN)])
        add_reflection(journal)
        add_generation(journal, 1)
        add_end(journal)
        flaky = Flaky(whole, fatal, after=after)
        projection = EvolutionRun(folder.name)
        monkeypatch.setattr(store, "client", lambda flaky=flaky: flaky)
        assert projection.sync() is not flaky.met
        monkeypatch.setattr(store, "client", lambda: whole)
        if not flaky.met:
            break
        # By turns the same process goes on, or another one.
        projection = EvolutionRun(folder.name) if fatal // 2 % 2 else projection
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


def _without_a_word(*_):
    """Take a trace and keep nothing of it."""


def _too_large(*_):
    raise MlflowException("the trace is too large", error_code=INVALID_PARAMETER_VALUE)


@pytest.mark.parametrize("answer", [_without_a_word, _too_large])
def test_a_trace_that_mlflow_will_not_take_is_named_and_holds_up_nothing(
    journal, folder, monkeypatch, answer
):
    start, asked = TracingClient.start_trace, []

    def choosy(client, info):
        if info.tags["bife.call"] != "g01-c00.1":
            return start(client, info)
        asked.append(info)
        return answer()

    monkeypatch.setattr(TracingClient, "start_trace", choosy)
    add_sample(journal, **GOOD)
    found = synced(folder)
    (note,) = found.notes
    assert note.startswith("MLflow refused the traces of 1 call (g01-c00.1); ")
    assert parent(found).data.tags["untraced"] == "g01-c00.1"
    assert (found.samples, found.traces) == (1, 1)
    assert [trace.info.tags["bife.call"] for trace in traces(found)] == ["g01-c00.2"]
    tried = len(asked)
    add_generation(journal, 1)
    assert found.sync()
    assert points(found) == [(1, 1.0)]
    assert len(asked) == tried
    assert synchronise_waiting() is None


def test_a_server_that_will_not_say_which_traces_it_has_holds_up_nothing(journal, folder, monkeypatch):
    found = synced(folder)
    add_sample(journal, **GOOD)
    monkeypatch.setattr(evolutions, "store_traces", lambda *_, **known: _too_large())
    assert found.sync()
    assert len(children(found)) == 1
    (note,) = found.notes
    assert "2 calls (g01-c00.1, g01-c00.2)" in note


def test_traces_lost_by_a_server_that_takes_nothing_are_delivered_later(
    journal, folder, no_patience, monkeypatch
):
    found = synced(folder)
    add_sample(journal, **GOOD)
    monkeypatch.setattr(TracingClient, "start_trace", lambda *_: _away())
    monkeypatch.setattr(store, "log", lambda *_, **known: _away())
    for _ in range(2):
        assert not found.sync()
    assert found.notes == ()
    monkeypatch.undo()
    assert found.sync()
    assert len(traces(found)) == found.traces == 2
    assert found.notes == ()


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


def test_the_twentieth_generation_costs_what_the_second_did(journal, folder, monkeypatch):
    search, listed = MlflowClient.search_traces, []

    def counted(client, *args, **known):
        found = search(client, *args, **known)
        listed.append(len(found))
        return found

    monkeypatch.setattr(MlflowClient, "search_traces", counted)
    projection = synced(folder)
    costs, samples = {}, []
    for step in range(20):
        name = f"g{step:02d}-c00"
        # All at one time, as answers read back from disk may be: times tell nothing of what is new.
        samples.append(add_sample(journal, name, f_lf=0.5, f_hf=-2.0, attempts=(attempt(answer="a rule"),)))
        write_files(folder, samples)
        add_generation(journal, step, samples=len(samples))
        if step in (0, 1, 18, 19):
            listed.clear()
            with Statements() as asked:
                assert projection.sync()
            costs[step] = (asked.count, sum(listed))
        if step == 1:
            assert listed == [1]
    assert costs[18][1] > costs[19][1] == 1  # what the test held back was delivered together
    assert costs[19] == costs[1]
    assert len(children(projection)) == len(traces(projection)) == 20
