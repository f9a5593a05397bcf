"""MLflow gets all events once, whatever its server does and whichever process is killed."""

import contextlib
import itertools
import sqlite3
import uuid

import pytest
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from bife_core.run.stages.records import SEARCH
from bife_core.run.study.journal import claim_on
from bife_core.search.generators.account import Account
from bife_core.store import ClaimLostError
from bife_tasks import stores
from bife_tasks.stores import ENDED, home_store, observing
from bife_tasks.tracking import mlflow_runs, subscriber, traces as tracing
from bife_tasks.tracking.provenance import WHOLE_RUN
from bife_tasks.tracking.subscriber import synchronise, track, track_search
from tests.support import journals
from tests.support.diary import Diary
from tests.support.journals import add_draft, add_end, add_generation, add_sample, attempt, opened
from tests.support.stored import is_open
from tests.support.tracked import BROKEN, GOOD, Projection, children, parent, points, synced, traces

_seconds = itertools.count()


@pytest.fixture
def no_patience(monkeypatch):
    """Try a store that failed again at once."""
    monkeypatch.setattr("bife_tasks.tracking.subscriber.RETRY_S", 0.0)


def test_another_process_and_a_signal_amid_a_write_double_nothing(journal, folder, monkeypatch):
    search, store_one = synced(folder), tracing._store
    journals.add_search(journal, 2)

    def signalled(name, *rest, refused):
        store_one(name, *rest, refused=refused)
        if name.startswith("g00-c01"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tracing, "_store", signalled)
        with pytest.raises(KeyboardInterrupt):
            search.sync()
    assert 0 < len(traces(search)) < 2 * 7
    for one in (search, synced(folder)):
        assert not one.sync()
        assert len(mlflow_runs.children(one.run_id)) == 2 * 4
        assert len(traces(one)) == 2 * 7
        assert points(one) == [(0, 3.0), (1, 6.0)]


@pytest.mark.parametrize("written", ["what is new", "all"])
def test_a_run_that_was_deleted_is_made_anew_with_all_events(journal, folder, no_patience, written):
    journals.add_search(journal, 1)
    lost = synced(folder).run_id
    mlflow_runs.client().delete_run(lost)
    add_generation(journal, 1, samples=3)
    if written == "all":
        home_store().set_cursor(stores.subscriber(), folder.name, 0)
    search = Projection(folder.name)
    search.sync()
    assert not search.sync()
    assert search.run_id != lost
    assert (len(children(search)), len(traces(search))) == (4, 7)
    assert points(search) == [(0, 3.0), (1, 3.0)]
    everywhere = f"tags.search_key = '{journal.key}' and tags.kind = 'sample'"
    parents = {run.data.tags[MLFLOW_PARENT_RUN_ID] for run in mlflow_runs.find_runs(SEARCH, everywhere)}
    assert parents == {search.run_id}
    left = mlflow_runs.client().search_traces(
        locations=[mlflow_runs.experiment_id(SEARCH)], filter_string=f"tags.`bife.run` = '{lost}'"
    )
    assert list(left) == []


def written_once(run):
    for metric in run.data.metrics:
        assert len(mlflow_runs.client().get_metric_history(run.info.run_id, metric)) == 1, metric


@contextlib.contextmanager
def broken_store(home):
    """Take a table away from MLflow's database for a while."""
    database = home / "mlflow" / "mlflow.db"
    mlflow_runs.client()  # makes it

    def rename(old, new):
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA legacy_alter_table = ON")
            connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    rename("metrics", "metrics_away")
    try:
        yield
    finally:
        rename("metrics_away", "metrics")


def test_what_a_store_did_not_take_is_written_by_the_next_process_once(journal, folder, home, no_patience):
    synchronise(ENDED)  # of other tests
    diary = Diary()
    synced(folder)
    journals.add_search(journal, 2)
    add_end(journal)
    with broken_store(home), observing(diary):
        for _ in range(3):
            assert Projection(folder.name).sync()
        assert synchronise(ENDED).startswith("MLflow lacks records of 1 run: MLflow at sqlite:///")
    assert len([note for note in diary.notes if note.endswith("the store keeps them until it does.")]) == 1
    assert synchronise(ENDED) == ""
    again = synced(folder)
    assert points(again) == [(0, 3.0), (1, 6.0)]
    assert len(children(again)) == 2 * 4
    times = [point.timestamp for point in mlflow_runs.client().get_metric_history(again.run_id, "samples")]
    assert times == sorted(times)


def test_a_store_that_is_away_is_not_asked_at_each_look(journal, folder, monkeypatch):
    asked = []
    monkeypatch.setattr(mlflow_runs, "open_run", lambda *args, **known: asked.append(args) or _away())
    search = Projection(folder.name)
    assert all(search.sync() for _ in range(3))
    assert len(asked) == 1
    assert search.sync(now=True)
    assert len(asked) == 2
    monkeypatch.undo()
    assert not search.sync(now=True)


def _away(*_, **__):
    raise MlflowException("the server is away")


WRITES = {"create_run", "log_batch", "log_artifact", "log_text", "log_inputs", "set_tag", "delete_tag"}
WRITES |= {"update_run", "set_terminated"}


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
    ["every fifth", *(pytest.param(how, marks=pytest.mark.long) for how in ("by turns", "before", "after"))],
)
def test_a_server_lost_at_any_write_gives_one_run_and_nothing_doubled(home, no_patience, monkeypatch, lost):
    fatal, step = 0, 5 if lost == "every fifth" else 1
    whole = mlflow_runs.client()
    while True:
        fatal += step
        after = lost == "after" or (lost in ("by turns", "every fifth") and fatal % 2 == 0)
        folder = home / "runs" / uuid.uuid4().hex[:16]
        journal = opened(folder.name, folder)
        journals.write_files(folder, [add_sample(journal, **GOOD), add_sample(journal, "g01-c01", **BROKEN)])
        journals.add_reflection(journal)
        add_generation(journal, 1)
        add_end(journal)
        flaky = Flaky(whole, fatal, after=after)
        search = Projection(folder.name)
        monkeypatch.setattr(mlflow_runs, "client", lambda flaky=flaky: flaky)
        assert bool(search.sync()) is flaky.met
        monkeypatch.setattr(mlflow_runs, "client", lambda: whole)
        if not flaky.met:
            break
        # By turns the same process goes on, or another one.
        search = Projection(folder.name) if fatal // 2 % 2 else search
        assert not search.sync()
        found = list(mlflow_runs.find_runs(SEARCH, f"tags.`bife.key` = '{folder.name}'"))
        assert [run.info.status for run in found] == ["FINISHED"]
        runs = mlflow_runs.children(search.run_id)
        assert sorted(run.data.tags["sample_id"] for run in runs) == ["g01-c00", "g01-c01", "g01-r00"]
        assert {run.info.status for run in runs} == {"FINISHED", "FAILED"}
        assert len(traces(search)) == 3
        for run in (*runs, parent(search)):
            written_once(run)
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

    search = synced(folder)
    began = 2_000_000_000.0 + next(_seconds)
    add_sample(journal, attempts=[attempt(answer=name, started_unix_s=began) for name in ("one", "two")])
    monkeypatch.setattr(TracingClient, request_, lost)
    search.sync()
    assert not search.sync()
    found = mlflow_runs.client().search_traces(
        locations=[mlflow_runs.experiment_id(SEARCH)], filter_string=f"timestamp_ms = {int(began * 1000)}"
    )
    assert sorted(trace.info.tags["bife.call"] for trace in found) == ["g01-c00.1", "g01-c00.2"]
    assert sorted(trace.data.spans[0].outputs for trace in found) == ["one", "two"]
    assert len(traces(search)) == 2


def test_a_trace_that_mlflow_does_not_take_is_named_and_holds_up_nothing(journal, folder, monkeypatch):
    start, diary = TracingClient.start_trace, Diary()

    def taken(client, info):
        return None if info.tags["bife.call"] == "g01-c00.1" else start(client, info)

    monkeypatch.setattr(TracingClient, "start_trace", taken)
    add_sample(journal, **GOOD)
    add_generation(journal, 1)
    with observing(diary):
        found = synced(folder)
    (note,) = diary.notes
    assert note.startswith(f"MLflow did not take the traces of 1 call of {folder.name} (g01-c00.1); ")
    assert [trace.info.tags["bife.call"] for trace in traces(found)] == ["g01-c00.2"]
    assert points(found) == [(1, 1.0)]


def test_traces_lost_by_a_server_that_takes_nothing_are_written_later(
    journal, folder, no_patience, monkeypatch
):
    found = synced(folder)
    add_sample(journal, **GOOD)
    monkeypatch.setattr(TracingClient, "start_trace", _away)
    monkeypatch.setattr(mlflow_runs, "log", _away)
    assert all(found.sync() for _ in range(2))
    monkeypatch.undo()
    assert not found.sync()
    assert len(traces(found)) == 2


def test_the_tenth_generation_costs_what_the_second_did(journal, folder):
    search, statements = synced(folder), []
    costs, samples = {}, []

    def met(*_):
        statements.append(1)

    for step in range(10):
        name = f"g{step:02d}-c00"
        # All at one time, as answers read back from disk may be.
        samples.append(add_sample(journal, name, f_lf=0.5, f_hf=-2.0, attempts=(attempt(answer="a rule"),)))
        journals.write_files(folder, samples)
        add_generation(journal, step, samples=len(samples))
        if step in (0, 1, 8, 9):
            statements.clear()
            event.listen(Engine, "before_cursor_execute", met)
            assert not search.sync()
            event.remove(Engine, "before_cursor_execute", met)
            costs[step] = len(statements)
    assert costs[9] == costs[1]
    assert len(children(search)) == len(traces(search)) == 10


CALLED = (attempt(answer="a rule", prompt_tokens=10),)


@pytest.fixture
def killed(journal, folder):
    """A search with two drafts, one of them scored, and a call under way; MLflow has the first events."""
    search = synced(folder)
    add_draft(journal, "g00-c00", attempts=CALLED, f_lf=0.25)
    add_draft(journal, "g00-c01", attempts=(attempt(started_unix_s=1_700_000_020.0),), source=None)
    unread = journals.call("g00-c02", operator="e1", started_unix_s=1_700_000_050.0)
    Account(home_store(), folder.name).begin(unread)
    return search


def test_all_that_a_killed_search_made_is_there_and_its_run_says_why_it_stopped(killed, folder):
    assert parent(killed).info.status == "RUNNING"
    for reason in ("Cancelled: by the page.", "Again."):
        assert synchronise(reason, by_person=True) == ""
        run = parent(killed)
        assert (run.info.status, run.data.tags["stopped"]) == ("KILLED", "Cancelled: by the page.")
        calls = [trace.info.tags["bife.call"] for trace in traces(killed)]
        assert sorted(calls) == ["g00-c00.1", "g00-c01.1", "g00-c02.1"]
        assert (run.data.metrics["calls"], run.data.metrics["prompt_tokens"]) == (3, 10)
    found = children(killed)
    assert {name: child.info.status for name, child in found.items()} == dict.fromkeys(found, "KILLED")
    assert found.keys() == {"g00-c00", "g00-c01"}
    assert found["g00-c00"].data.tags["outcome"] == "unfinished"
    assert found["g00-c00"].data.metrics["f_lf"] == 0.25


def test_a_search_that_is_resumed_settles_what_was_left_open(killed, folder, key):
    synchronise("Gone.")
    assert parent(killed).info.status == "FAILED"
    journal = opened(key, folder)
    journal.settle([journals.settled("g00-c00", f_lf=0.25)])
    add_end(journal)
    again = synced(folder)
    assert parent(again).info.status == "FINISHED"
    assert points(again, "calls") == [(0, 3)]
    assert points(again, "collection_s") == [(0, 0)]
    child = children(again)["g00-c00"]
    assert (child.info.status, child.data.tags["outcome"]) == ("FINISHED", "scored")
    written_once(child)
    assert len(traces(again)) == 3


def test_a_flow_run_closes_its_own_searches_only(killed, folder):
    assert synchronise("Cancelled.", by_person=True, of="another run") == ""
    assert is_open(home_store(), folder.name)
    opened(folder.name, folder, {WHOLE_RUN: "this run"})
    synchronise("Cancelled.", by_person=True, of="this run")
    run = parent(killed)
    assert (run.info.status, run.data.tags["stopped"]) == ("KILLED", "Cancelled.")


def test_a_cancelled_search_is_killed_whoever_found_it_first_and_whatever_its_threads_still_wrote(
    killed, folder, journal
):
    opened(folder.name, folder, {WHOLE_RUN: "this run"})
    synchronise("Gone.")
    assert parent(killed).info.status == "FAILED"
    for of, status in (("another run", "FAILED"), ("this run", "KILLED")):
        synchronise("Cancelled.", by_person=True, of=of)
        assert parent(killed).info.status == status
    add_draft(journal, "g00-c07")
    synchronise("Gone.")
    run = parent(killed)
    assert (run.info.status, run.data.tags["stopped"]) == ("KILLED", "Cancelled.")


def test_a_search_that_a_process_works_on_is_left_to_it(killed, folder):
    with home_store().claim(claim_on(folder.name)):
        assert synchronise("Gone.") == ""
    assert parent(killed).info.status == "RUNNING"


def test_who_lost_the_claim_on_a_search_writes_nothing_to_mlflow(journal, folder, monkeypatch):
    synced(folder)
    journal.stop("Paused.")
    monkeypatch.setattr(subscriber, "write_search", lambda *_: pytest.fail("written"))
    with home_store().claim(claim_on(folder.name)):
        with home_store()._database.writing() as connection:
            connection.execute(text("UPDATE claims SET holder = 'another'"))
        with pytest.raises(ClaimLostError):
            track_search(folder.name)


def test_track_names_what_it_cannot_write_and_goes_on(key, killed, folder):
    other = f"{key}-unreadable"
    home_store().open_study(other, "search", "a search")
    home_store().append(other, "opened", {})
    with home_store().claim(claim_on(folder.name)):
        left = {row.key: reason for row, reason in track()}
    assert "A process works on it" in left[folder.name]
    assert "written by another version of BiFE" in left[other]
    assert {row.key: reason for row, reason in track()}[folder.name] == ""
    assert parent(killed).data.tags["stopped"] == ENDED


def test_a_search_killed_before_mlflow_had_answered_once_is_written(journal, folder):
    add_draft(journal, "g00-c00", attempts=CALLED, f_lf=0.25)
    synchronise("Cancelled.", of="another run")
    assert is_open(home_store(), folder.name), "it is left to its own run"
    synchronise("Gone.")
    search = synced(folder)
    assert parent(search).info.status == "FAILED"
