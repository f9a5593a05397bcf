"""One real run from instances to a registered rule, shared by the tests that look at what it left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bife_core.config import PipelineConfig
from bife_core.estimate import Estimate
from bife_core.observer import Observer
from bife_core.presets import preset
from bife_core.stages.results import PipelineResult
from bife_core.study import EvolutionState
from flows.operate import running


@dataclass
class Diary(Observer):
    """An observer that writes down what it is called with, and passes it on."""

    other: Observer = field(default_factory=Observer)
    stages: list[str] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    activities: list[str] = field(default_factory=list)
    states: list[EvolutionState] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)

    def stage(self, name: str, about: str) -> None:
        self.stages.append(name)
        self.other.stage(name, about)

    def progress(self, done: int, total: int) -> None:
        self.steps.append((done, total))
        self.other.progress(done, total)

    def activity(self, text: str) -> None:
        self.activities.append(text)
        self.other.activity(text)

    def generation(self, state: EvolutionState) -> None:
        self.states.append(state)
        self.other.generation(state)

    def expect(self, estimate: Estimate) -> None:
        self.estimates.append(estimate)
        self.other.expect(estimate)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.other.note(text)


@dataclass(frozen=True)
class SmokeRun:
    """The run, what its observer saw, and what the command line printed."""

    config: PipelineConfig
    result: PipelineResult
    diary: Diary
    printed: Result


def demonstrate() -> SmokeRun:
    """Call ``bife demo --preset smoke`` in this process, watched twice."""
    from bife_core.cli.program import app

    diary, results, run = Diary(), [], running.run

    def watched(watcher: Observer, *flow_and_settings: Any) -> Any:
        diary.other = watcher
        results.append(run(diary, *flow_and_settings))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "run", watched)
        patch.setenv("COLUMNS", "200")
        patch.setenv("NO_COLOR", "1")
        printed = CliRunner().invoke(app, ["demo", "--preset", "smoke"])
    assert printed.exit_code == 0, printed.output
    return SmokeRun(preset("smoke"), results[0], diary, printed)


@pytest.fixture(scope="session")
def smoke(prepared: Path) -> SmokeRun:
    return demonstrate()
