"""Files that travel between two homes through a root that neither shares."""

from __future__ import annotations

import os

import fsspec
import pytest

from bife_core.config import CollectionConfig, InstancesConfig, RunnerConfig
from bife_core.errors import ConfigError
from bife_core.solves import SolveOutcome
from tasks.collection import collect, decisions_dataset
from tasks.evolution import alone_in_evolution
from tasks.progress import listening
from tasks.solves import SharedSolves, solve_store
from tasks.storage import address_of, fetch, publish, recall, require_storage, share, storage_root
from tasks.workers import close_workers

TINY = InstancesConfig(size="tiny")
ONE = RunnerConfig(workers=1)


def test_a_file_of_the_home_keeps_its_place_and_another_its_content(root, homes, tmp_path):
    here = homes("here")
    own, model = tmp_path / "my [own].lp", here / "instances" / "model.mps"
    own.write_text("another")
    model.parent.mkdir()
    model.write_text("a model")
    keys = publish(own, root), publish(model, root)
    homes("there")
    assert keys[1] == "instances/model.mps"
    assert [fetch(key, root).read_text() for key in keys] == ["another", "a model"]
    assert fetch(keys[0], root).name == own.name


def test_a_file_that_is_gone_is_an_error_and_leaves_nothing(root, homes):
    there = homes("there")
    with pytest.raises(FileNotFoundError):
        fetch("instances/none.mps.gz", root)
    assert [path for path in there.rglob("*") if path.is_file()] == []


def test_the_directory_of_a_run_is_brought_up_to_date(root, homes):
    run = homes("here") / "runs" / "key"
    (run / "calls").mkdir(parents=True)
    (run / "calls" / "1.json").write_text("{}")
    (run / "calls" / ".2.json.part").write_text("half")
    report = run / "report.md"
    for number, text in enumerate(("first", "second")):
        report.write_text(text)
        os.utime(report, ns=(number, number))
        share(run, changing=True)
    there = homes("there") / "runs" / "key"
    recall(there)
    assert sorted(path.name for path in there.rglob("*.*")) == ["1.json", "report.md"]
    assert (there / "report.md").read_text() == "second"
    (there / "report.md").write_text("third")
    share(there, changing=True)
    homes("elsewhere")
    assert fetch("runs/key/report.md", root).read_text() == "third"


def test_what_never_changes_is_left_as_it_is(root, homes):
    for home in ("here", "there"):
        decisions = homes(home) / "decisions" / "auctions"
        decisions.mkdir(parents=True)
        (decisions / "part.parquet").write_text(home)
        share(decisions)
    recall(decisions)
    homes("elsewhere")
    assert fetch("decisions/auctions/part.parquet", root).read_text() == "here"


def test_another_machine_goes_on_with_an_evolution_even_if_it_failed_here(root, homes):
    homes("here")
    with pytest.raises(ZeroDivisionError), alone_in_evolution("key") as folder:  # noqa: PT012
        folder.mkdir(parents=True)
        (folder / "calls.json").write_text("paid")
        raise ZeroDivisionError
    homes("there")
    with alone_in_evolution("key") as folder:
        assert (folder / "calls.json").read_text() == "paid"


def test_a_run_that_went_on_elsewhere_goes_on_from_there(root, homes):
    def going_on(home: str, line: str) -> str:
        homes(home)
        with alone_in_evolution("key") as folder:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "journal.jsonl").open("a") as journal:
                journal.write(f"{line}\n")
            (folder / "report.md").write_text(line)
            return (folder / "journal.jsonl").read_text()

    assert going_on("here", "first") == "first\n"
    assert going_on("there", "second") == "first\nsecond\n"
    assert going_on("here", "third") == "first\nsecond\nthird\n"
    homes("elsewhere")
    assert fetch("runs/key/report.md", root).read_text() == "third"


def test_a_journal_that_only_this_machine_adds_to_is_not_read_back(root, homes, monkeypatch):
    folder = homes("here") / "runs" / "key"
    journal = folder / "journal.jsonl"
    folder.mkdir(parents=True)
    read: list[str] = []
    system = type(fsspec.core.url_to_fs(root)[0])
    open_ = system.open

    def opening(self, path, mode="rb", **given):
        read.extend([path] if "r" in mode else [])
        return open_(self, path, mode, **given)

    monkeypatch.setattr(system, "open", opening)
    for line in ("first\n", "second\n", "third\n"):
        with journal.open("a") as file:
            file.write(line)
        share(folder, changing=True)
    assert read == []
    homes("there")
    assert fetch("runs/key/journal.jsonl", root).read_text() == "first\nsecond\nthird\n"
    assert read


def test_two_ends_of_one_run_are_refused_and_both_stay(root, homes):
    journals = []
    for home in ("here", "there"):
        journals.append(homes(home) / "runs" / "key" / "journal.jsonl")
        journals[-1].parent.mkdir(parents=True)
        journals[-1].write_text(f"begun\n{home}\n")
        notes: list[str] = []
        with listening(lambda *_: None, notes.append):
            share(journals[-1].parent, changing=True)
    assert [note.endswith("another machine has gone on with its journal") for note in notes] == [True]
    with pytest.raises(ConfigError, match="apart from each other"), alone_in_evolution("key"):
        pass
    assert [path.read_text() for path in journals] == ["begun\nhere\n", "begun\nthere\n"]


def test_solves_are_paid_for_once_on_all_machines(root, homes):
    homes("here")
    outcome = SolveOutcome(failure=None)
    store = solve_store()
    assert isinstance(store, SharedSolves)
    assert store.get("abc") is None
    store.put("abc", outcome)
    homes("there")
    assert solve_store().get("abc") == outcome
    assert solve_store().path_of("abc").is_file()


def test_decisions_are_recorded_once_on_all_machines(homes, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_STORAGE", f"file://{tmp_path / 'root'}")
    config = CollectionConfig(decisions=5, time_limit_s=20)
    homes("here")
    first = collect.fn(TINY, config, ONE)
    close_workers()
    homes("there")
    monkeypatch.setattr("bife_core.decisions.collecting.submit_repeated", None)  # nothing is to be solved
    second = collect.fn(TINY, config, ONE)
    close_workers()
    assert (second.digest, second.cpu_s) == (first.digest, first.cpu_s)
    assert second.path != first.path
    source = decisions_dataset(TINY, second)["source"]
    assert source == f"file://{tmp_path / 'root'}/decisions/{second.path.parent.name}/{second.path.name}"


def test_without_a_root_nothing_travels(monkeypatch, homes):
    monkeypatch.delenv("BIFE_STORAGE", raising=False)
    here = homes("here")
    assert storage_root() == ""
    assert not isinstance(solve_store(), SharedSolves)
    require_storage()
    share(here)
    recall(here)
    assert address_of(here / "runs") == str(here / "runs")


@pytest.mark.parametrize(
    ("root", "said"),
    [("nosuch://bucket/bife", "Protocol not known: nosuch"), ("file:///dev/null/bife", "Not a directory")],
)
def test_a_root_that_cannot_be_used_is_refused_before_anything_is_spent(root, said, monkeypatch):
    monkeypatch.setenv("BIFE_STORAGE", root)
    with pytest.raises(ConfigError, match=f"BIFE_STORAGE cannot be used: .*{said}"):
        require_storage()


def test_a_root_that_is_lost_costs_a_note_and_no_result(homes, tmp_path, monkeypatch):
    homes("here")
    (tmp_path / "file").touch()
    monkeypatch.setenv("BIFE_STORAGE", f"file://{tmp_path / 'file'}/root")
    notes: list[str] = []
    with listening(lambda *_: None, notes.append):
        for key in ("abc", "abd"):
            solve_store().put(key, SolveOutcome())
            assert solve_store().get(key) == SolveOutcome()
    assert len(notes) == 1
    assert notes[0].startswith("Solves of this machine are kept from others: ")


def test_a_root_that_can_be_used_is_left_empty(root):
    require_storage()
    system, base = fsspec.core.url_to_fs(root)
    assert system.find(base) == []
