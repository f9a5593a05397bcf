"""Tuning alone ends with a comparison on instances that chose nothing, or says that there are none."""

import re
import shutil
from types import SimpleNamespace

import pytest

from bife_core.measure.evaluation.comparison import Comparison
from bife_core.measure.trials import Raced
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages import tune as stage
from bife_core.run.stages.records import read_record
from bife_core.run.stages.tracker import Tracker
from bife_core.run.study.journal import claim_on
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.tuning.space import Space
from bife_core.tuning.tuner import Trial, Tuning
from tests.support.programs import FOREIGN

LEAN = {"separating": "off", "heuristics": "off"}
MORE_CUTS = {"separating": "aggressive"}
SETTINGS = {"search.seed": 0, "tune.instances": 2, "high.cost": "nodes", "validation.instances": 3}


@pytest.fixture
def tuned(monkeypatch):
    """Have tuning find settings, or none, by solves of SCIP default settings that took so many CPU seconds."""

    def found(choices, usual_s=1.0, cost=50.0):
        usual = Raced(costs=(100.0, 100.0), ratio=1.0, seen=2, cpu_s=2 * usual_s, won=True)
        best = Raced(costs=(cost, cost), ratio=cost / 100.0, seen=2, cpu_s=1.0, won=True)
        trials = [Trial(choices={}, raced=usual)]
        trials += [Trial(choices=choices, raced=best)] if choices else []
        configuration = Space({}).configuration(choices)
        tuning = Tuning(trials=tuple(trials), instances=2, cost="nodes", configuration=configuration)
        monkeypatch.setattr(stage, "_tune", lambda *_, **__: tuning)

    return found


def test_what_was_found_is_compared_on_instances_that_chose_nothing(tuned, runtime):
    tuned(MORE_CUTS)
    config = with_overrides(preset("smoke"), SETTINGS)
    result = stage.tune(config, runtime, 10.0)
    pattern = r"On instances that chose nothing it takes .* nodes \(ratio (\d\.\d+), .* 3 instances.*\)\."
    measured = re.fullmatch(pattern, result.notes[-1])
    assert measured is not None, result.notes
    assert 0.1 < float(measured[1]) < 10
    assert stage.tune(config, runtime, 10.0).notes[-1] == result.notes[-1]
    tuned(MORE_CUTS, usual_s=3.0)
    fewer = stage.tune(config, runtime, 10.0).notes[-1]
    assert "1 instance)" in fewer or "no method branches on any of 1 instance" in fewer, fewer
    assert not stage.tune(config, runtime, 10.0, beside=True).notes[-1].startswith("On instances that chose")


def test_where_nothing_is_saved_on_other_instances_scip_default_settings_stay(tuned, runtime):
    tuned(LEAN)
    result = stage.tune(with_overrides(preset("smoke"), SETTINGS), runtime, 10.0)
    stay = r" more nodes \(ratio .*\), so SCIP default settings stay\.$"
    assert re.search(stay, result.notes[-1]), result.notes
    assert result.tuning.configuration.identity == RPB
    assert load_method(str(result.path)).identity == RPB


@pytest.mark.parametrize(
    ("cost", "high", "short", "kept"),
    [
        (95.0, 1.2, 0, False),
        (95.0, 0.99, 0, True),
        (20.0, 1.2, 0, True),
        (95.0, 0.99, 6, False),
        (20.0, 1.2, 6, True),
    ],
)
def test_what_may_be_chance_both_on_the_instances_that_chose_it_and_on_others_is_not_kept(
    cost, high, short, kept, tuned, runtime, monkeypatch
):
    tuned(LEAN, cost=cost)
    names = {
        "setting": "these",
        "method": "found",
        "baseline": RPB,
        "instances": 6,
        "groups": 6,
        "short": short,
    }
    lead = Comparison(ratio=0.9, ci_low=0.7, ci_high=high, **names)
    monkeypatch.setattr(stage, "evaluate", lambda *_, **__: SimpleNamespace(lead=lead))
    result = stage.tune(with_overrides(preset("smoke"), SETTINGS), runtime, 10.0)
    stay = "which may be chance as on those that chose it, so SCIP default settings stay."
    assert (result.tuning.configuration.identity != RPB, result.notes[-1].endswith(stay)) == (kept, not kept)


def test_a_tuning_is_recorded_while_it_goes_on(runtime, monkeypatch):
    shown, show = [], Tracker.show

    def noted(self, study, record):
        held = not self.home.store.claims.take([claim_on(study)])
        shown.append((record, held, read_record(self.home.store, study)[0]))
        return show(self, study, record)

    monkeypatch.setattr(Tracker, "show", noted)
    monkeypatch.setattr(stage, "_RECORD_EVERY_S", 0.0)
    result = stage.tune(with_overrides(preset("smoke"), SETTINGS), runtime, 0.3, beside=True)
    records, held, _ = zip(*shown, strict=True)
    assert all(held), "no other process closes it"
    assert len(records) == len(result.tuning.trials) + 1, "at the beginning, after each trial and at the end"
    assert [record.state for record in records] == ["running"] * (len(records) - 1) + ["finished"]
    assert len({record.key for record in records}) == 1
    assert records[0].curves == {}
    for count, record in enumerate(records[1:-1], 2):
        assert record.curves["ratio"] == records[-1].curves["ratio"][:count]
        assert record.metrics["trials"] == count
    folder = result.path.parent
    assert (folder / records[1].files[0]).read_bytes().startswith(b"\x89PNG")
    again = stage.tune(with_overrides(preset("smoke"), SETTINGS), runtime, 0.3, beside=True)
    assert (again.path, again.tuning) == (result.path, result.tuning)
    assert shown[-1][2].state == "finished", "who asks again opens nothing anew"
    assert [event.kind for event in runtime.store.events(folder.name)] == ["running", "finished"]


def test_tunings_with_other_starts_are_records_of_their_own(tuned, runtime):
    tuned(LEAN)
    config = with_overrides(preset("smoke"), SETTINGS)

    def path(start):
        return stage.tune(config, runtime, 10.0, searched=Configuration(start=start), beside=True).path

    assert path("restricted") == path("restricted") != path("local_search")


def test_where_nothing_was_found_nothing_is_validated(tuned, runtime):
    tuned({})
    result = stage.tune(with_overrides(preset("smoke"), SETTINGS), runtime, 10.0)
    assert result.notes[-1].startswith("No better settings than SCIP's defaults were found")


def test_a_folder_without_others_says_so(tuned, runtime, tmp_path):
    tuned(LEAN)
    shutil.copy(FOREIGN / "lseu.mps", tmp_path)
    settings = {"instances.benchmark": "folder", "instances.folder": str(tmp_path)}
    result = stage.tune(with_overrides(preset("smoke"), settings | SETTINGS), runtime, 10.0)
    assert result.notes[-1] == (
        "That is on the instances that chose it, and no others are left to validate it: add some."
    )
