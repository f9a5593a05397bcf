"""The journal: of one search, read again as it was written, and closed with the calls that none was left to read."""

import math
import time

import pytest

from bife_core.measure.low import LowScore
from bife_core.run.study import Journal, JournalError, Opened
from bife_core.run.study.journal import Ended, Settled, Stopped, claim_on, close_left, stop_journals
from bife_core.search import SampleRequest, SearchCost
from bife_core.search.answers import Answered
from bife_core.search.generators import Draft
from bife_core.store import Store
from tests.support import journals
from tests.support.stored import entries_of, is_open

OPENED = Opened(key="a", name="toys", params={"search.seed": 0})
REQUEST = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3, hints=("Half a pair: \ud800.",))
DRAFT = Draft(generator="openai", model="m", source="x", seconds=0.1, thought="\ud83d é\n\x00")


class Clock:
    """The clock of journals, turned by hand; the time of day goes on."""

    now_s = 0.0
    time = staticmethod(time.time)

    def monotonic(self):
        return self.now_s


@pytest.fixture
def clock(monkeypatch):
    turned = Clock()
    monkeypatch.setattr("bife_core.run.study.journal.time", turned)
    return turned


def journal(folder):
    made = Journal(folder, OPENED)
    answer = made.add(Answered(request=REQUEST, draft=DRAFT))
    made.add(answer.model_copy(update={"low": LowScore(f_lf=1 / 3)}))
    return made


def test_entries_are_read_as_they_were_written(tmp_path):
    written = journal(tmp_path).entries
    assert [entry.kind for entry in written] == ["opened", "answered", "answered"]
    assert list(entries_of(tmp_path)) == written
    assert Journal(tmp_path, OPENED).entries == written


def test_of_a_sample_that_is_settled_only_what_no_answer_says_is_stored_and_once(tmp_path):
    made = journal(tmp_path)
    sample = made.answers("sample")["g00-c00"].sample.model_copy(update={"duplicate_of": "g00-c07"})
    for _ in range(2):
        made.settle([sample])
    assert [entry.changes for entry in made.of(Settled)] == [{"g00-c00": {"duplicate_of": "g00-c07"}}]
    assert Journal(tmp_path, OPENED).samples == made.samples == {"g00-c00": sample}


def test_an_event_of_another_version_is_an_error(tmp_path):
    made = journal(tmp_path)
    made.store.append(made.key, "scored", {"id": "g00-c00"})
    with pytest.raises(JournalError, match=r"Event 4 of the search a in .* cannot be read"):
        Journal(tmp_path, OPENED)


def test_time_adds_up_over_starts_and_stands_still_between_them(tmp_path, clock):
    first = Journal(tmp_path, OPENED)
    clock.now_s += 100
    first.start()
    clock.now_s += 3
    stopped = first.add(Stopped(reason="Tea."))
    assert stopped.elapsed_s == 3
    assert stopped.at_unix_s == pytest.approx(time.time(), abs=5)
    second = Journal(tmp_path, OPENED)
    for each in (first, second):
        clock.now_s += 100
        assert each.elapsed_s == 3
    second.start()
    clock.now_s += 2
    second.add(Answered(request=REQUEST))
    clock.now_s += 100  # killed meanwhile
    assert Journal(tmp_path, OPENED).elapsed_s == 5


def test_a_search_that_another_process_stopped_is_started_again(tmp_path):
    first = Journal(tmp_path, OPENED)
    first.start()
    first.start()
    Journal(tmp_path, OPENED).add(Stopped(reason="Gone."))
    first.refresh()
    first.start()
    assert [entry.kind for entry in first.entries] == ["opened", "started", "stopped", "started"]


def test_only_its_own_end_is_the_end(tmp_path):
    made = Journal(tmp_path, OPENED)
    cost = SearchCost(search="bife", f_hf_s=math.pi)
    assert made.end(8) is None
    made.add(Ended(best=None, cost=cost, ended_by="budget.calls is used up."))
    assert made.end(8) is None
    made.add(Ended(best=None, cost=cost, samples=8))
    assert Journal(tmp_path, OPENED).end(9) is None, "with more samples it goes on"
    ended = Journal(tmp_path, OPENED).end(8)
    assert ended is not None
    assert ended.cost == cost


def test_a_person_stops_what_is_under_way_and_nothing_else(tmp_path):
    over, under_way = Journal(tmp_path / "over", OPENED), Journal(tmp_path / "under way", OPENED)
    for each in (over, under_way):
        each.start()
    over.add(Ended(best=None, cost=SearchCost(search="bife")))
    assert stop_journals("Tea.") == ["a"]
    assert over.entries[-1].kind == "ended"
    last = under_way.entries[-1]
    assert isinstance(last, Stopped)
    assert (last.reason, last.by_person) == ("Tea.", True)
    assert stop_journals("Again.") == []
    assert under_way.entries[-1] is last


def test_a_search_that_was_killed_is_stopped_by_another_process_once(tmp_path):
    killed, store = tmp_path / "killed", Store(tmp_path / "killed")
    journals.add_sample(journals.opened("killed", killed, store=store), "g00-c00", f_lf=0.5)
    assert is_open(store, "killed")
    assert not close_left(store, killed, "Another's.", provenance={"made by": "another"})
    with store.claim(claim_on("killed")):
        assert not close_left(store, killed, "A process is at it.")
    assert close_left(store, killed, "Its process was killed.", by_person=True)
    assert not is_open(store, "killed")
    *_, last = closed = entries_of(killed)
    assert isinstance(last, Stopped)
    assert (last.reason, last.by_person) == ("Its process was killed.", True)
    assert not close_left(store, killed, "Twice.")
    assert entries_of(killed) == closed
    journals.opened("killed", killed, store=store)  # taken up again, and killed again
    close_left(store, killed, "Twice.")
    assert [entry.kind for entry in entries_of(killed)[-2:]] == ["started", "stopped"]
