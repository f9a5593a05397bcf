"""An observer that writes down what it is called with, and passes it on."""

from __future__ import annotations

from bife_core.estimate import Estimate
from bife_core.observer import EvolutionState, Observer


class Diary(Observer):
    """Keeps stages, progress, states, notes and estimates."""

    def __init__(self, other: Observer | None = None) -> None:
        self.other = other or Observer()
        self.stages: list[str] = []
        self.steps: list[tuple[int, int]] = []
        self.states: list[EvolutionState] = []
        self.notes: list[str] = []
        self.estimates: list[Estimate] = []

    def stage(self, name: str, about: str) -> None:
        self.stages.append(name)
        self.other.stage(name, about)

    def progress(self, done: int, total: int) -> None:
        self.steps.append((done, total))
        self.other.progress(done, total)

    def activity(self, text: str) -> None:
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
