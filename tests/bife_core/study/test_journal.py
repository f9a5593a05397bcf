"""The journal: whole lines only, of one search, told apart and read again as they were written."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from bife_core.fidelity.low import LowScore
from bife_core.generators import Draft
from bife_core.search import SampleRequest, SearchCost
from bife_core.study import Journal, JournalError, Opened
from bife_core.study.closing import stop_journals
from bife_core.study.journal import Drafted, Ended, Scored, Stopped, read_journal
from tests.support.stored import entries_of

OPENED = Opened(key="a", name="toys", params={"search.seed": 0})
REQUEST = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3, hints=("Half a pair: \ud800.",))
DRAFT = Draft(key="g00-c00", generator="openai", model="m", source="x", seconds=0.1, thought="\ud83d é\n\x00")


def journal(folder: Path) -> Journal:
    made = Journal(folder, OPENED)
    made.add(Drafted(request=REQUEST, draft=DRAFT))
    made.add(Scored(id="g00-c00", score=LowScore(f_lf=1 / 3)))
    return made


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = journal(tmp_path).entries
    assert [entry.kind for entry in written] == ["opened", "drafted", "scored"]
    assert tuple(entries_of(tmp_path)) == written
    assert Journal(tmp_path, OPENED).entries == written


def test_reading_goes_on_from_any_place(tmp_path: Path) -> None:
    made = journal(tmp_path)
    places = [place for _, place in read_journal(made.store, made.key)]
    assert places == [1, 2, 3]
    made.add(Stopped(reason="Tea."))
    assert [entry.kind for entry, _ in read_journal(made.store, made.key, 2)] == ["scored", "stopped"]
    assert list(read_journal(made.store, made.key, 4)) == []
    assert list(read_journal(made.store, "none")) == []


def test_an_event_of_another_version_is_an_error(tmp_path: Path) -> None:
    made = journal(tmp_path)
    made.store.append(made.key, "scored", {"kind": "scored"})
    with pytest.raises(JournalError, match=r"Event 4 of the search a in .* cannot be read"):
        Journal(tmp_path, OPENED)


def test_a_folder_belongs_to_one_search(tmp_path: Path) -> None:
    journal(tmp_path)
    with pytest.raises(JournalError, match="holds another search"):
        Journal(tmp_path, OPENED.model_copy(update={"key": "b"}))


def test_time_adds_up_over_starts(tmp_path: Path) -> None:
    first = Journal(tmp_path, OPENED)
    time.sleep(0.05)
    told = first.add(Stopped(reason="Tea."))
    assert told.elapsed_s >= 0.05
    assert told.at_unix_s == pytest.approx(time.time(), abs=5)
    second = Journal(tmp_path, OPENED)
    assert second.elapsed_s >= told.elapsed_s
    until = second.until_unix_s(1.0)
    assert until is not None
    assert 3500 < until - time.time() < 3600
    assert second.until_unix_s(None) is None


def test_only_its_own_end_is_the_end(tmp_path: Path) -> None:
    made = Journal(tmp_path, OPENED)
    cost = SearchCost(search="bife", f_hf_s=math.pi)
    assert made.end(8) is None
    made.add(Ended(best=None, cost=cost, ended_by="budget.calls is used up."))
    assert made.end(8) is None
    made.add(Ended(best=None, cost=cost, samples=8))
    assert Journal(tmp_path, OPENED).end(9) is None, "with more samples it goes on"
    known = Journal(tmp_path, OPENED).end(8)
    assert known is not None
    assert known.cost == cost


def test_a_person_stops_what_is_under_way_and_nothing_else(tmp_path: Path) -> None:
    over, under_way = Journal(tmp_path / "over", OPENED), Journal(tmp_path / "under way", OPENED)
    over.add(Ended(best=None, cost=SearchCost(search="bife")))
    stop_journals("Tea.")
    assert over.entries[-1].kind == "ended"
    last = under_way.entries[-1]
    assert isinstance(last, Stopped)
    assert (last.reason, last.by_person) == ("Tea.", True)
    stop_journals("Again.")
    assert under_way.entries[-1] is last
