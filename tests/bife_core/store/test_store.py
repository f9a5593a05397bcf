"""The store: what is written stays, in order, with any number of writers and after any kill."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from sqlalchemy import select, text

from bife_core.base.errors import StoreError
from bife_core.base.places import sqlite_url
from bife_core.store import ClaimLostError, ClaimTimeoutError, Store
from bife_core.store.database import claims
from tests.support.databases import new_database


@pytest.fixture
def where(tmp_path):
    return new_database(tmp_path)


@pytest.fixture
def store(where):
    opened = Store(where)
    yield opened
    opened.close()


HEAD = "import os, signal, sys, time\nfrom bife_core.store import ClaimLostError, Store, claims\n"
OPENS = f"{HEAD}store = Store(sys.argv[1])\nprint('ready', flush=True)\n"
HOLDS = f"{HEAD}with Store(sys.argv[1]).claim('work'):\n    print('ready', flush=True)\n    time.sleep(60)\n"


def python(code, *arguments):
    """Start a Python program that says a line when it is ready."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with program.stdout as output:
        assert output.readline().strip() == "ready"
    return program


def test_events_are_kept_in_order_with_what_json_can_hold(store, where):
    store.open_study("a", "search", "a search")
    bodies = [{"n": 1}, {"text": "half a pair: \ud800"}, {"nested": [None, 1.5, "\u00e9"]}]
    for body in bodies:
        store.append("a", "step", body)
    again = Store(where)
    assert [event.body for event in again.events("a")] == bodies
    assert [event.seq for event in again.events("a", after=1)] == [2, 3]
    again.open_study("a", "search", "entered once")
    again.open_study("b", "collection", "second \0 \udc80")
    rows = [(row.key, row.kind, row.name, row.last, row.last_kind) for row in again.studies()]
    second = ("b", "collection", "second \ufffd \ufffd", 0, "")
    assert rows == [("a", "search", "a search", 3, "step"), second]
    assert [row.key for row in again.studies("collection")] == ["b"]


def test_of_all_studies_some_kinds_of_events_and_recent_calls_are_read(store):
    for study in ("a", "b"):
        for kind in ("opened", "step", "ended"):
            store.append(study, kind, {})
    kinds = [(event.study, event.kind) for event in store.events(None, kinds=["opened", "ended"])]
    assert kinds == [("a", "opened"), ("a", "ended"), ("b", "opened"), ("b", "ended")]
    answer = "NUL: \0, half a pair: \ud800, a backslash: \\u0000"
    call = {"at": 1.5, "cost": None, "answer": answer}
    store.begin_call("a", "k", call)
    assert store.recent_calls(time.time() - 60.0) == [call]
    assert store.calls("a") == [("k", 1, call)]
    assert store.recent_calls(time.time() + 60.0) == [], "nothing happened since in its study"


def test_threads_and_processes_that_append_at_once_lose_nothing(store, where):
    code = 'for number in range(30): store.append("a", "step", {"from": "program", "number": number})'
    program = python(OPENS + code, where)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: store.append("a", "step", {"from": "here", "number": n}), range(60)))
    assert program.wait() == 0
    stored = list(store.events("a"))
    assert [event.seq for event in stored] == list(range(1, 91))
    assert sorted(e.body["number"] for e in stored if e.body["from"] == "here") == list(range(60))
    assert [e.body["number"] for e in stored if e.body["from"] == "program"] == list(range(30))


def test_what_was_written_survives_a_kill(where):
    code = f"""{HEAD}
store = Store(sys.argv[1])
store.begin_call("a", "g00-c00", {{"status": "sent"}})
store.put_solve("y", {{"cpu_s": 1.0}})
print("ready", flush=True)
time.sleep(60)
"""
    program = python(code, where)
    program.send_signal(signal.SIGKILL)
    program.wait()
    store = Store(where)
    assert store.calls("a") == [("g00-c00", 1, {"status": "sent"})]
    store.put_solve("y", {"cpu_s": 2.0})
    assert store.get_solve(["y", "z"]) == {"y": {"cpu_s": 1.0}}, "what is stored stays"
    assert [store.begin_call("a", key, {}) for key in ("g00-c00", "one")] == [2, 1]
    store.finish_call("a", "g00-c00", 1, {"status": "ok", "answer": "42"})
    assert [body for _, _, body in store.calls("a", "g00-c00")] == [{"status": "ok", "answer": "42"}, {}]


def test_each_comparison_is_a_use_of_all_its_groups_and_counts_once_whoever_enters_it_when(store, where):
    code = 'for number in range(8): store.serve(["a", "b"], "test", f"of the program {number % 4}")'
    program = python(OPENS + code, where)
    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(lambda n: store.serve(["a", "b"], "test", f"rule {n}"), range(8)))
    assert program.wait() == 0
    every = store.served(["a"])["a"].comparisons
    assert len(set(every)) == 12
    assert [every[n - 1] for n in numbers] == [f"rule {n}" for n in range(8)]
    assert store.serve(["a", "b"], "test", "rule 3") == numbers[3]
    assert store.serve(["c"], "test", "rule 3") == 1
    assert store.serve(["c", "a"], "test", "later") == 13
    assert store.serve([], "test", "nothing") == 0


def test_what_ever_served_a_search_is_no_test_instance(store):
    store.serve(["a"], "test", "rule")
    store.serve(["a", "b"], "validation")
    store.serve(["b"], "design")
    store.serve(["c"], "test", "rule")
    splits = {group: served.split for group, served in store.served().items()}
    assert splits == {"a": "validation", "b": "design", "c": "test"}
    assert store.served(["c", "unknown"]).keys() == {"c"}


def test_a_cursor_says_how_far_a_subscriber_is(store):
    assert store.cursor("mlflow", "a") is None
    store.set_cursor("mlflow", "a", 3, "run 7")
    store.set_cursor("mlflow", "a", 5)
    assert store.cursor("mlflow", "a") == (5, "")
    assert store.cursor("prefect", "a") is None


def test_a_claim_excludes_threads_of_the_same_process(store):
    inside, most = [], []

    def work(_):
        with store.claim("work"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert max(most) == 1


def test_a_claim_is_waited_for_no_longer_than_was_said(store, where):
    other = Store(where)
    with store.claim("work"), pytest.raises(ClaimTimeoutError, match="another thread of this process"):
        other.claim("work", timeout_s=0.6).__enter__()
    with other.claim("work", timeout_s=0):
        assert store.claims.take(["work"]) == set()


def test_who_waits_for_long_says_once_who_holds_the_claim(store, where, monkeypatch, caplog):
    monkeypatch.setattr("bife_core.store.claims.PATIENCE_S", 0.1)
    program, boot_unix_s = python(HOLDS, where), psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: boot_unix_s + 5.0)  # as when the clock is set
    with pytest.raises(ClaimTimeoutError):
        store.claim("work", timeout_s=0.8).__enter__()
    program.kill()
    program.wait()
    (record,) = caplog.records
    assert record.getMessage().startswith(f"Waiting for work, under way in process {program.pid} on ")


def test_a_claim_that_could_not_be_given_back_is_free_for_its_own_process(store, where, monkeypatch):
    def away(*_):
        raise StoreError("The store cannot be written to.")

    with store.claim("work"), store.claim("more"):
        monkeypatch.setattr("bife_core.store.database.Database.writing", away)
    monkeypatch.undo()
    with store.claim("work", timeout_s=0), Store(where).claim("more", timeout_s=0):
        pass


def test_who_lost_a_claim_writes_nothing_more_to_its_study(store):
    with store.claim("search a"):
        store.append("a", "step", {})
        with store._database.writing() as connection:  # another machine took it over, and is done
            connection.execute(text("DELETE FROM claims"))
        for write, *arguments in (
            (store.append, "a", "step", {}),
            (store.require_claims, "a"),
            (store.begin_call, "a", "k", {}),
            (store.set_cursor, "mlflow", "a", 1),
        ):
            with pytest.raises(ClaimLostError, match="search a is lost"):
                write(*arguments)
        with pytest.raises(ClaimTimeoutError):
            store.claim("search a", timeout_s=0).__enter__()
        store.append("b", "step", {})
    assert (len(list(store.events("a"))), store.calls("a"), store.cursor("mlflow", "a")) == (1, [], None)
    with store.claim("search a", timeout_s=0):
        store.append("a", "step", {})


def test_who_lost_a_claim_to_an_unknown_holder_does_not_take_it_anew(store, where):
    with store.claim("work"):
        with store._database.writing() as connection:
            connection.execute(text("UPDATE claims SET holder = 'another'"))
        with pytest.raises(ClaimTimeoutError):
            Store(where).claim("work", timeout_s=0).__enter__()


def test_a_process_that_was_stopped_for_longer_than_its_lease_notices_before_it_writes(
    store, where, monkeypatch
):
    code = f"""{HEAD}
claims.LEASE_S = 1.0
store = Store(sys.argv[1])
with store.claim("search a"):
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        store.append("a", "step", {{}})
    except ClaimLostError:
        sys.exit(7)
"""
    program = python(code, where)
    monkeypatch.setattr("bife_core.store.claims.LEASE_S", 1.0)
    with store.claim("search a", timeout_s=30):
        store.append("a", "taken over", {})
        program.send_signal(signal.SIGCONT)
        assert program.wait() == 7
    assert [event.kind for event in store.events("a")] == ["taken over"]


def test_of_several_claims_those_that_are_free_are_taken(store, where):
    other = Store(where)
    assert store.claims.take(["a", "b"]) == {"a", "b"}
    assert other.claims.take(["b", "c"]) == {"c"}
    store.claims.release(["a", "b"])
    assert other.claims.take(["b"]) == {"b"}
    assert other.claims.take([]) == set()
    other.claims.release(["b", "c"])


def test_the_claim_of_a_killed_process_is_taken_over_at_once(store, where):
    program = python(HOLDS, where)
    with pytest.raises(ClaimTimeoutError):
        store.claim("work", timeout_s=0).__enter__()
    assert store.claims.held("work")
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    assert not store.claims.held("work")
    began = time.monotonic()
    with store.claim("work"):
        assert time.monotonic() - began < 2.0


def test_a_lease_of_another_machine_runs_out_by_the_clock_of_the_database(store, monkeypatch):
    began, at = time.time(), time.time
    monkeypatch.setattr(time, "time", lambda: at() + 3600.0)
    for until, free in ((began + 60, set()), (began - 2, {"work"})):
        with store._database.writing() as connection:
            connection.execute(text("DELETE FROM claims"))
            row = text("INSERT INTO claims VALUES ('work', 'h', 'elsewhere', 1, 0.0, :until)")
            connection.execute(row, {"until": until})
        assert store.claims.take(["work"]) == free


def test_a_claim_is_renewed_unless_it_was_given_back(store, monkeypatch):
    monkeypatch.setattr("bife_core.store.claims._RENEW_S", 0.2)
    with store.claim("work"):
        with store._database.writing() as connection:
            connection.execute(text("UPDATE claims SET until_unix_s = 0"))
            # The store was away when this one was given back.
            left = "INSERT INTO claims SELECT 'done', holder, machine, pid, began_unix_s, 0 FROM claims"
            connection.execute(text(left))
        time.sleep(1.0)
        until_s = dict(map(tuple, store._database.rows(select(claims.c.name, claims.c.until_unix_s))))
        assert until_s["work"] > time.time()
        assert until_s["done"] == 0


@pytest.mark.parametrize("body", ['{"n": 1', "[1]", "", "[" * 100_000])
def test_a_damaged_row_is_one_sentence_and_hides_no_other(store, body):
    store.append("a", "step", {"n": 1})
    store.append("b", "step", {"n": 1})
    store.begin_call("a", "k", {"n": 1})
    store.put_solve("s", {"n": 1})
    with store._database.writing() as connection:
        for table, key in (("events", "study"), ("calls", "study"), ("solves", "key")):
            named = text(f"UPDATE {table} SET body = :body WHERE {key} IN ('a', 's')")
            connection.execute(named, {"body": body})
    reads = (store.calls, lambda: store.recent_calls(0), lambda: store.get_solve("s"))
    for read in (*reads, lambda: [*store.events("a")]):
        with pytest.raises(StoreError, match="where JSON was expected; restore a backup"):
            read()
    assert [event.body for event in store.events("b")] == [{"n": 1}]


def test_more_keys_than_a_statement_takes_are_read_and_served(store, monkeypatch):
    keys = [f"{number:06}" for number in range(300_000)]
    store.put_solve(keys[-1], {"n": 1})
    assert store.get_solve(keys) == {keys[-1]: {"n": 1}}
    monkeypatch.setattr("bife_core.store.store._MANY", 2)
    assert [store.serve(keys[at : at + 2], "test", str(at)) for at in range(3)] == [1, 2, 2]
    assert store.serve(keys[:9], "test", "all") == 3
    served = store.served(keys[1:9:2])
    assert [len(served[key].comparisons) for key in keys[1:9:2]] == [3, 2, 1, 1]


@pytest.mark.parametrize("schema", ["6", "8", "x", "", "7.0", "-7"])
def test_a_store_of_a_schema_that_is_not_known_is_refused_in_one_sentence(store, where, schema):
    with store._database.writing() as connection:
        connection.execute(text(f"UPDATE meta SET value = '{schema}' WHERE name = 'schema'"))
    with pytest.raises(StoreError, match=rf"has schema {schema} and this version of BiFE reads schema 7;"):
        Store(where)


@pytest.mark.parametrize("name", ["a?b", "a?mode=ro", "a#b", "a%41", "a b@c:d"])
def test_each_folder_has_a_store_of_its_own_whatever_it_is_called(tmp_path, name):
    for folder in (tmp_path / name, tmp_path / f"{name}2"):
        Store(folder).append("a", "step", {})
        assert (folder / "bife.db").is_file()
        assert len(list(Store(sqlite_url(folder / "bife.db")).events("a"))) == 1
    assert Store(sqlite_url(folder / "bife.db")).folder == folder
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, f"{name}2"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("{}/file/home", "cannot be written to"),
        ("{}", "not a database"),
        ("nonsense://", "expected to be a file or a database URL"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path, where, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "bife.db").write_text("this is no database, " * 100)
    with pytest.raises(StoreError, match=message):
        Store(where.format(tmp_path))
