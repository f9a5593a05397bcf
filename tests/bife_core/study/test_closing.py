"""A search whose process was killed: its journal is closed, with the calls that nobody was left to read."""

import pytest

from bife_core.generators.account import Account, Call
from bife_core.store import Store
from bife_core.study.closing import stop_journals
from bife_core.study.journal import Drafted, Started, Stopped, Unanswered
from tests.support import journals
from tests.support.stored import close, entries_of, is_open


def call(key: str, status: str, **known) -> Call:
    return journals.call(key, status=status, generation=int(key[1:3]), **known)


def record(folder, *calls):
    store = Account(Store(folder), "killed")
    for one in calls:
        store.finish(store.begin(one).model_copy(update={"status": one.status}))


@pytest.fixture
def killed(tmp_path):
    """A search that has read one of its four calls."""
    folder = tmp_path / "killed"
    journal = journals.opened("killed", folder, store=Store(folder))
    journals.add_sample(journal, "g00-c00", attempts=(journals.attempt(answer="a rule"),), f_lf=0.5)
    record(
        folder,
        call("g00-c00", "ok", operator="i1", answer="a rule"),
        call("g01-c00", "error", operator="m1", parents=("g00-c00", "g00-c07"), error="HTTP 500"),
        call("g01-c00", "ok", operator="m1", parents=("g00-c00", "g00-c07"), answer="a rule"),
        call("g01-r00", "sent", operator="short_term_reflection", kind="reflection"),
    )
    return folder


def close_left(folder, reason, **named):
    return close(Store(folder), folder, reason, **named)


def left_open(folder, key="killed", instead_of=""):
    return is_open(Store(folder), key, instead_of)


def test_calls_nobody_read_are_told_of_before_the_stop(killed):
    assert left_open(killed)
    close_left(killed, "Its process was killed.", by_person=True)
    assert not left_open(killed)
    *_, first, second, last = entries_of(killed)
    assert isinstance(first, Unanswered)
    assert (first.request.id, first.request.operator, first.request.generation) == ("g01-c00", "m1", 1)
    assert [parent.id for parent in first.request.parents] == ["g00-c00"]
    assert [(one.status, one.answer) for one in first.draft.attempts] == [("error", None), ("ok", "a rule")]
    assert isinstance(second, Unanswered)
    assert second.request.kind == "reflection"
    assert "whether it was billed is not known" in second.draft.attempts[0].error
    assert (last.kind, last.reason, last.by_person) == ("stopped", "Its process was killed.", True)


def test_a_journal_that_is_closed_is_left_as_it_is(killed):
    close_left(killed, "Once.")
    before = entries_of(killed)
    close_left(killed, "Twice.")
    assert entries_of(killed) == before


def test_calls_told_of_once_are_not_told_of_again(killed):
    close_left(killed, "Once.")
    journals.opened("killed", killed, store=Store(killed))  # taken up again, and killed again
    close_left(killed, "Twice.")
    assert [entry.kind for entry in entries_of(killed)[-2:]] == [Started().kind, Stopped(reason="").kind]


def test_a_person_who_stops_this_process_stops_its_searches(killed):
    journal = journals.opened("killed", killed, store=Store(killed))
    stop_journals("Interrupted.")
    assert [entry.kind for entry in journal.entries[-3:]] == ["unanswered", "unanswered", "stopped"]
    assert sum(isinstance(entry, Drafted) for entry in journal.entries) == 1


@pytest.mark.parametrize("ended_by", [None, "budget.calls is used up."])
def test_a_search_that_ended_is_not_open(tmp_path, ended_by):
    assert not left_open(tmp_path, "ended")
    journal = journals.opened("ended", tmp_path, store=Store(tmp_path))
    assert left_open(tmp_path, "ended")
    journals.add_end(journal, ended_by)
    assert not left_open(tmp_path, "ended")


def test_a_search_that_stopped_for_a_reason_that_may_be_replaced_counts_as_open(tmp_path):
    journal = journals.opened("stopped", tmp_path, store=Store(tmp_path))
    journal.add(Stopped(reason="Gone."))
    assert not left_open(tmp_path, "stopped")
    assert not left_open(tmp_path, "stopped", instead_of="Another.")
    assert left_open(tmp_path, "stopped", instead_of="Gone.")
