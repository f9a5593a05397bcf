"""Studies: created, run, extended, paused, read as tables and plotted; what cannot be used ends in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bife_core
from bife_core.errors import BifeError
from bife_core.search import BifeSearch
from bife_core.store import Store
from bife_core.study.journal import Ended

from tests.bife_core.study.test_evolve import data, home, small, outcome, workers  # noqa: F401  # isort: skip


@pytest.fixture(scope="module")
def extended(home: Path, data: dict[str, Any]) -> bife_core.Study:  # noqa: F811
    study = bife_core.create_study(small(), **data, folder=home / "extended")
    study.run()
    assert study.done
    study.run(samples=4)
    return study


def test_a_finished_search_is_extended(extended: bife_core.Study, data: dict[str, Any]) -> None:  # noqa: F811
    assert (extended.done, len(extended.samples), extended.samples.id.is_unique) == (True, 9, True)
    assert repr(extended).startswith("Study(bife, 9 of 9 samples, best g")
    again = bife_core.create_study(small(search__samples=9), **data, folder=extended.journal.folder)
    entries = len(again.journal.entries)
    assert len(again.run().samples) == 9
    assert len(again.journal.entries) == entries, "a finished study is not run again"


def test_a_study_is_read_as_tables_and_plotted(extended: bife_core.Study) -> None:
    best = extended.best
    assert best is not None
    assert best.f_hf == extended.samples.f_hf.max()
    assert {"sample", "instance", "cpu_s", "nodes"} <= set(extended.solves.columns)
    assert set(extended.solves["sample"]) <= set(extended.samples["id"])
    for figure in (extended.plot_progress(), extended.plot_fidelities(), extended.plot_lineage()):
        assert figure.axes


def test_a_study_pauses_after_generations_and_samples(data: dict[str, Any], tmp_path: Path) -> None:  # noqa: F811
    seen: list[int] = []
    study = bife_core.create_study(small(), **data, store=tmp_path)
    first = study.run(samples=2)
    assert (study.done, first.ended_by is not None, study._sampled) == (False, True, 2)
    while not study.done:
        study.run(generations=1, callbacks=[lambda study, state: seen.append(state.generation)])
    assert set(seen) == {0, 1}
    assert study.journal.folder.parent == tmp_path / "runs"
    assert [row.key for row in Store(tmp_path).studies("evolution")] == [study.journal.key]
    whole = bife_core.create_study(small(), **data, folder=tmp_path / "whole").run()
    assert outcome(study.run()) == outcome(whole)


def test_paths_and_a_search_by_its_class(data: dict[str, Any], tmp_path: Path) -> None:  # noqa: F811
    given = {**data, "instances": [str(instance.path) for instance in data["instances"]]}
    given["decisions"] = data["decisions"].path
    study = bife_core.create_study(small(), **given, search=BifeSearch, store=Store(tmp_path))
    assert repr(study) == "Study(bife, 0 of 5 samples, no rule yet, not done)"
    found = study.run()
    assert len(found.samples) == 5
    made = bife_core.create_study(small(), **given, search=BifeSearch, store=Store(tmp_path))
    assert made.journal.key == study.journal.key
    assert found.best is not None
    assert found.best_rule is not None
    former = next(one for one in found.samples if one.valid and one.sha != found.best.sha)
    made.journal.add(made.journal.stored(Ended).model_copy(update={"best": former}))
    longer = made.run(samples=1)
    assert len(longer.samples) == 6
    said = f"The best rule is {found.best.id} now ({found.best_rule}) and was {former.id} before, whose file stays"
    assert longer.best == found.best
    assert any(note.startswith(said) for note in longer.notes)
    assert found.best_rule.read_text() == found.best.source


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"instances": ["missing.mps"]}, "missing.mps cannot be read"),
        ({"instances": [3]}, "expected to be a path"),
        ({"instances": 3}, "instances was expected to be files"),
        ({"store": 3}, "A store was expected to be a folder"),
        ({"decisions": "missing.npz"}, "no decisions file missing.npz"),
        ({"decisions": 3}, "decisions was expected to be"),
        ({"config": "quickly"}, "no preset 'quickly'"),
        ({"config": 3}, "no preset 3"),
        ({"search": "annealing"}, "annealing"),
        ({"decisions": None}, "'bife' goes by F_LF and needs recorded decisions"),
        ({"instances": ()}, "At least one instance"),
        ({"store": None}, "needs a place for its files"),
    ],
)
def test_what_cannot_be_used_ends_in_a_sentence(
    changed: dict[str, Any],
    message: str,
    data: dict[str, Any],  # noqa: F811
    tmp_path: Path,
) -> None:
    given = {"config": small(), **data, "store": tmp_path} | changed
    with pytest.raises(BifeError, match=message):
        bife_core.create_study(**given)
    assert not list(tmp_path.iterdir())
