"""One real run from instances to a registered rule, shared by the tests that look at what it left."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bife_core.config import PipelineConfig
from bife_core.evolution import EvolutionState
from bife_core.presets import preset
from flows.operate.running import run
from flows.pipeline import pipeline
from flows.results import PipelineResult


@dataclass
class Diary:
    """An observer that writes down what it is told."""

    stages: list[str] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    activities: list[str] = field(default_factory=list)
    states: list[EvolutionState] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def stage(self, name: str, about: str) -> None:
        self.stages.append(name)

    def progress(self, done: int, total: int) -> None:
        self.steps.append((done, total))

    def activity(self, text: str) -> None:
        self.activities.append(text)

    def generation(self, state: EvolutionState) -> None:
        self.states.append(state)

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass(frozen=True)
class SmokeRun:
    """The run, and what its observer saw."""

    config: PipelineConfig
    result: PipelineResult
    diary: Diary


@pytest.fixture(scope="session")
def smoke() -> SmokeRun:
    config, diary = preset("smoke"), Diary()
    return SmokeRun(config, run(diary, pipeline, config), diary)
