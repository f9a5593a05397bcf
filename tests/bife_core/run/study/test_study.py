"""Studies: created, run, extended, paused, read as tables and plotted; what cannot be used ends in one sentence."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from sqlalchemy import text

import bife_core
from bife_core.base.errors import BifeError
from bife_core.run.observer import Observer
from bife_core.run.study.journal import Ended, Stopped, claim_on
from bife_core.search import BifeSearch
from bife_core.store import ClaimLostError, Store
from tests.bife_core.run.study.conftest import outcome, small, with_solves_of
from tests.bife_core.run.study.test_journal import Clock, clock  # noqa: F401
from tests.bife_core.run.study.test_runs_of_a_study import Stubborn


@pytest.fixture(scope="module")
def extended(search_home, whole, data):
    folder = with_solves_of(whole.folder, search_home / "extended")
    study = bife_core.create_study(small(), **data, folder=folder)
    study.run()
    assert study.done
    study.run(samples=2)
    return study


def test_a_finished_search_is_extended(extended):
    assert (extended.done, len(extended.samples), extended.samples.id.is_unique) == (True, 7, True)
    assert repr(extended).startswith("Study(bife, 7 of 7 samples, best g")


def test_a_study_is_read_as_tables_and_plotted(extended):
    best = extended.best
    assert best is not None
    assert best.f_hf == extended.samples.f_hf.max()
    assert {"sample", "instance", "cpu_s", "nodes"} <= set(extended.solves.columns)
    assert set(extended.solves["sample"]) <= set(extended.samples["id"])
    for figure in (extended.plot_progress(), extended.plot_fidelities()):
        assert figure.axes


def test_a_study_pauses_after_generations_and_samples(whole, data, tmp_path):
    with_solves_of(whole.folder, tmp_path)
    seen = []
    study = bife_core.create_study(small(), **data, store=tmp_path)
    first = study.run(samples=2)
    assert (study.done, first.ended_by is not None, study._sampled) == (False, True, 2)
    while not study.done:
        study.run(generations=1, callbacks=[lambda study, state: seen.append(state.generation)])
    assert set(seen) == {0, 1}
    assert study.journal.folder.parent == tmp_path / "runs"
    assert study.journal.key in [row.key for row in Store(tmp_path).studies("search")]
    assert outcome(study.run()) == outcome(whole)


def test_only_time_in_which_the_search_runs_is_counted(
    data,
    soon_solved,
    tmp_path,
    clock,  # noqa: F811
):
    arguments = {**data, "instances": soon_solved, "generator": Stubborn(None)}
    study = bife_core.create_study(small(budget__hours=0.01), **arguments, folder=tmp_path)
    states = []
    while not study.done:
        clock.now_s += 3600.0
        result = study.run(generations=1, callbacks=[lambda _, state: states.append(state)])
        clock.now_s += 3600.0
    assert (len(result.samples), result.ended_by) == (5, None)
    assert result.seconds == result.cost.wall_s == result.cost.other_s == 0.0
    assert result.cost.work_s < 3600.0
    assert {state.elapsed_s for state in states} == {0.0}
    late = bife_core.create_study(small(budget__hours=0.01), **arguments, folder=tmp_path / "late")
    ended = late.run(callbacks=[lambda *_: setattr(clock, "now_s", clock.now_s + 60.0)])
    assert "hours is used up" in str(ended.ended_by)


class Interrupting(Stubborn):
    """Is interrupted while it writes the first rule, and comes to an end much later."""

    def __init__(self):
        super().__init__(None)
        self.released, self.late = threading.Event(), threading.Event()

    def generate(self, request, benchmark):
        if request.id == "g00-c01" and request.id not in self.asked:
            self.asked.append(request.id)
            os.kill(os.getpid(), signal.SIGINT)
            self.released.wait(60.0)
            self.late.set()
        return super().generate(request, benchmark)


def test_ctrl_c_stops_at_once_whatever_is_waited_for_and_the_next_run_goes_on(data, soon_solved, tmp_path):
    arguments = {**data, "instances": soon_solved}
    calm = bife_core.create_study(
        small(), **arguments, generator=Stubborn(None), folder=tmp_path / "calm"
    ).run()
    generator = Interrupting()
    study = bife_core.create_study(small(), **arguments, generator=generator, folder=tmp_path / "run")
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        study.run()
    assert time.monotonic() - began_s < 10.0
    last = study.journal.entries[-1]
    assert isinstance(last, Stopped)
    assert last.by_person
    assert study.journal.store.claims.take([claim_on(study.journal.key)]), "another process may go on"
    study.journal.store.claims.release([claim_on(study.journal.key)])
    generator.released.set()
    assert generator.late.wait(10.0)
    time.sleep(0.2)
    assert study.journal.entries[-1] is last, "what comes too late is not stored"
    assert outcome(study.run()) == outcome(calm)


def test_who_lost_the_claim_in_the_last_generation_replaces_no_file(data, soon_solved, tmp_path):
    arguments = {**data, "instances": soon_solved, "generator": Stubborn(None)}
    study = bife_core.create_study(small(), **arguments, folder=tmp_path)
    seen = []

    def state_of_folder():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if "bife.db" not in path.name}

    def lose(study, state):
        if state.samples_total == 5:
            with study.journal.store._database.writing() as connection:
                connection.execute(text("UPDATE claims SET holder = 'another'"))
            seen.append((state_of_folder(), len(study.journal.entries)))

    with pytest.raises(ClaimLostError, match=r"is lost: .* Nothing more is written"):
        study.run(callbacks=[lose])
    assert (state_of_folder(), len(list(study.journal.store.events(study.journal.key)))) == seen[0]
    assert {"best_rule.py", "search_cost.json"}.isdisjoint(seen[0][0])


CLOSE = """
import sys
from pathlib import Path
from bife_core.store import ClaimLostError, Store
from bife_core.run.study import SearchState
from bife_core.run.study.journal import close_left
print(close_left(Store(sys.argv[1]), Path(sys.argv[2]), "Gone."))
"""


def test_a_study_that_runs_is_not_declared_dead_by_another_process_and_a_paused_one_is_free(
    whole, data, tmp_path
):
    with_solves_of(whole.folder, tmp_path)
    study, closed = bife_core.create_study(small(), **data, store=tmp_path), []

    def close(*_):
        program = [sys.executable, "-c", CLOSE, str(tmp_path), str(study.journal.folder)]
        closed.append(subprocess.run(program, capture_output=True, text=True, check=True).stdout)

    study.run(generations=1, callbacks=[close])
    assert closed == ["False\n"]
    last = study.journal.entries[-1]
    assert isinstance(last, Stopped)
    assert last.reason.startswith("Paused")
    with study.claim():
        study.run(generations=1)
        assert study.journal.entries[-1].kind != "stopped", "within one claim runs are one"


def test_paths_and_a_search_by_its_class(whole, data, tmp_path):
    with_solves_of(whole.folder, tmp_path)
    arguments = {**data, "instances": [str(instance.path) for instance in data["instances"]]}
    arguments["decisions"] = data["decisions"].path
    study = bife_core.create_study(small(), **arguments, search=BifeSearch, store=Store(tmp_path))
    assert repr(study) == "Study(bife, 0 of 5 samples, no rule yet, not done)"
    result = study.run()
    assert len(result.samples) == 5
    made = bife_core.create_study(small(), **arguments, search=BifeSearch, store=Store(tmp_path))
    assert made.journal.key == study.journal.key
    assert result.best is not None
    assert result.best_rule is not None
    former = next(one for one in result.samples if one.valid and one.sha != result.best.sha)
    made.journal.add(made.journal.find(Ended).model_copy(update={"best": former}))
    longer = made.run(samples=1)
    assert len(longer.samples) == 6
    assert longer.best is not None
    words = f"The best rule is {longer.best.id} now ({longer.best_rule}) and was {former.id} before, whose file stays"
    assert any(note.startswith(words) for note in longer.notes)
    assert result.best_rule.read_text() == result.best.source


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"instances": ["missing.mps"]}, "missing.mps cannot be read"),
        ({"instances": [3]}, "expected to be a path"),
        ({"decisions": "missing.npz"}, "no decisions file missing.npz"),
        ({"workers": 0}, "workers was expected to be 1 or more and is 0"),
        ({"search": "annealing"}, "annealing"),
        ({"decisions": None}, "'bife' goes by F_LF and needs recorded decisions"),
        ({"instances": ()}, "At least one instance"),
        ({"store": None}, "needs a place for its files"),
    ],
)
def test_what_cannot_be_used_ends_in_a_sentence(changed, message, data, tmp_path):
    arguments = {"config": small(), **data, "store": tmp_path} | changed
    with pytest.raises(BifeError, match=message):
        bife_core.create_study(**arguments)
    assert not list(tmp_path.iterdir())


def test_a_search_of_another_version_is_named_and_this_one_begins_anew(data, tmp_path):
    store, notes = Store(tmp_path), []

    class Noted(Observer):
        def note(self, text):
            notes.append(text)

    def opened(seed):
        return bife_core.create_study(small(search__seed=seed), **data, store=store, observer=Noted())

    opened(0)
    (row,) = store.studies("search")
    store.open_study("old", "search", row.name.replace("seed 0", "seed 1"))
    store.append("old", "opened", {"key": "old"})
    opened(0)
    assert notes == []
    opened(1)
    (note,) = notes
    assert "The search old of the same name was stored by another version" in note
