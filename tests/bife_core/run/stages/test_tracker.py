"""Where what stages record is kept: any tracker serves, and the core knows none by name."""

from pathlib import Path

import pytest

import bife_core
from bife_core.base.errors import ConfigError
from bife_core.run.observer import TrackedRun
from bife_core.run.presets import preset
from bife_core.run.stages.collect import collect
from bife_core.run.stages.conclusions import comparison_link, links
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.tracker import TRACKERS, Tracker, tracker_of
from bife_core.store.home import Home
from tests.support.documents import blocks


def test_what_a_stage_records_goes_to_the_tracker_in_use(runtime, collected):
    (definition,) = blocks("developers/extending.md", "python", "Adding a tracker")
    names = {}
    exec(compile(definition, "docs/developers/extending.md", "exec", dont_inherit=True), names)
    result = collect(preset("smoke"), Runtime(runtime.home, tracker=names["Lines"](runtime.home)))
    assert (result.summary, result.run.tracker) == (collected, "lines.txt")
    assert (runtime.home.root / "lines.txt").read_text().startswith("combinatorial_auction ")
    assert comparison_link(result.run) == f"the comparison in lines.txt: `{result.run.url}`"
    assert links(result.run).startswith("On lines.txt's pages, which `bife up` serves")
    assert (comparison_link(TrackedRun()), links(TrackedRun())) == ("", "")


def test_without_a_tracker_a_run_has_no_facts(tmp_path):
    with pytest.raises(ConfigError, match="is a run of a tracker, and none is in use here; give a file"):
        Runtime(tmp_path).tracker.facts("a" * 32)


def test_trackers_are_found_by_name(monkeypatch, tmp_path):
    assert {"store", "mlflow"} <= set(TRACKERS)
    home = Home(tmp_path)
    assert (tracker_of(home).name, tracker_of(home, "mlflow").name) == (Tracker.name, "MLflow")
    monkeypatch.setenv("BIFE_TRACKER", "mlflow")
    assert tracker_of(home).name == "MLflow"
    monkeypatch.setenv("BIFE_TRACKER", "absent")
    with pytest.raises(ConfigError, match="There is no tracker 'absent'; choose one of store, mlflow"):
        tracker_of(home)


def test_the_core_names_no_tracker():
    files = [
        path for path in Path(bife_core.__file__).parent.rglob("*") if path.suffix in (".py", ".pyi", ".md")
    ]
    lines = [
        line.strip() for path in files for line in path.read_text().splitlines() if "mlflow" in line.lower()
    ]
    allowed = (
        'SETTINGS_FILE: Final = "mlflow.env"',  # a file that people have
        "is of the home {path}, by which MLflow knows its artifacts",  # what a home's folder holds
    )
    assert [line for line in lines if not any(one in line for one in allowed)] == []
