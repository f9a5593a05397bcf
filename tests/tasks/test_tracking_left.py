"""Searches whose process was killed, brought to MLflow by whoever comes next."""

import pytest

from bife_core.generators.calls import CallStore
from bife_core.study.journal import Settled
from tasks.stores import home_store
from tasks.tracking import GONE, store, synchronise
from tasks.tracking.outage import read_cursor
from tasks.tracking.provenance import WHOLE_RUN
from tests.support.journals import add_draft, add_end, attempt, call, opened, settled
from tests.support.stored import is_open
from tests.support.tracked import children, parent, synced, traces

CALLED = (attempt(answer="a rule", prompt_tokens=10),)


def answered(folder, key):
    """Write down a call whose answer nobody read."""
    written = call(key, operator="e1", started_unix_s=1_700_000_050.0)
    CallStore(home_store(), folder.name).begin(written)


@pytest.fixture
def killed(journal, folder):
    """A search with two drafts, one of them scored, and a call under way; MLflow knows that it has begun."""
    projection = synced(folder)
    add_draft(journal, "g00-c00", attempts=CALLED, f_lf=0.25)
    add_draft(journal, "g00-c01", attempts=(attempt(started_unix_s=1_700_000_020.0),), source=None)
    answered(folder, "g00-c02")
    return projection


def test_all_that_was_paid_for_is_there_and_the_run_says_why_it_stopped(killed, folder):
    assert parent(killed).info.status == "RUNNING"
    assert synchronise("Cancelled: by the page.", by_person=True) is None
    run = parent(killed)
    assert (run.info.status, run.data.tags["stopped"]) == ("KILLED", "Cancelled: by the page.")
    calls = {trace.info.tags["bife.call"] for trace in traces(killed)}
    assert calls == {"g00-c00.1", "g00-c01.1", "g00-c02.1"}
    found = children(killed)
    assert {name: child.info.status for name, child in found.items()} == {
        "g00-c00": "KILLED",
        "g00-c01": "KILLED",
    }
    assert found["g00-c00"].data.tags["outcome"] == "unsettled"
    assert found["g00-c00"].data.metrics["f_lf"] == 0.25
    assert synchronise("Again.") is None
    assert parent(killed).data.tags["stopped"] == "Cancelled: by the page."
    assert len(traces(killed)) == 3


def test_a_search_that_goes_on_settles_what_was_left_open(killed, folder, key):
    synchronise("Gone.")
    assert parent(killed).info.status == "FAILED"
    journal = opened(key, folder)
    journal.add(Settled(sample=settled("g00-c00", f_lf=0.25)))
    add_end(journal)
    again = synced(folder)
    assert parent(again).info.status == "FINISHED"
    assert "stopped" not in parent(again).data.tags
    child = children(again)["g00-c00"]
    assert (child.info.status, child.data.tags["outcome"]) == ("FINISHED", "scored")
    for name in ("f_lf", "f_lf_seconds", "prompt_tokens"):
        assert len(store.client().get_metric_history(child.info.run_id, name)) == 1, name
    assert len(traces(again)) == 3


def test_a_run_closes_its_own_searches_only(killed, folder):
    assert synchronise("Cancelled.", by_person=True, of="another run") is None
    # Somebody else's, of which nobody knows yet why it ended.
    assert parent(killed).data.tags["stopped"] == GONE
    assert is_open(home_store(), folder.name)
    opened(folder.name, folder, {WHOLE_RUN: "this run"})
    assert synchronise("Cancelled.", by_person=True, of="this run") is None
    assert parent(killed).data.tags["stopped"] == "Cancelled."
    assert not is_open(home_store(), folder.name)


def test_a_run_says_why_it_stopped_although_another_one_found_it_gone(killed, folder):
    opened(folder.name, folder, {WHOLE_RUN: "this run"})
    synchronise(GONE)
    synchronise("Cancelled.", by_person=True, of="another run")
    assert parent(killed).data.tags["stopped"] == GONE
    synchronise("Cancelled.", by_person=True, of="this run")
    run = parent(killed)
    assert (run.info.status, run.data.tags["stopped"]) == ("KILLED", "Cancelled.")


def test_a_search_that_a_process_is_at_is_left_alone(killed, folder):
    with home_store().claim(f"evolution {folder.name}"):
        assert synchronise("Gone.") is None
    assert parent(killed).info.status == "RUNNING"


def test_another_run_s_search_that_mlflow_never_heard_of_is_left_to_that_run(journal, folder):
    add_draft(journal, "g00-c00", attempts=CALLED, f_lf=0.25)
    synchronise("Cancelled.", by_person=True, of="another run")
    assert is_open(home_store(), folder.name)
    assert read_cursor(folder.name) is None


def test_a_search_killed_before_mlflow_had_answered_once_is_told_of(journal, folder):
    add_draft(journal, "g00-c00", attempts=CALLED, f_lf=0.25)
    synchronise("Gone.")
    told = synced(folder)
    assert (parent(told).info.status, parent(told).data.tags["stopped"]) == ("FAILED", "Gone.")
    assert told.samples == told.traces == 0  # it was all there
