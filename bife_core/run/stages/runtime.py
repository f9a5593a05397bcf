"""What a stage runs in: a home, an observer, a tracker and a conductor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from pydantic import Field

from bife_core.base.values import Value
from bife_core.instances.base import Instance, Split
from bife_core.measure.context import SolveContext
from bife_core.registry.base import Registry
from bife_core.run.config import GeneratorConfig, InstancesConfig, PipelineConfig, RunnerConfig
from bife_core.run.observer import Observer, SearchState, TrackedRun
from bife_core.run.stages.instances import Entered, entered
from bife_core.run.stages.records import Record
from bife_core.run.stages.tracker import Tracker
from bife_core.run.study import content_of
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import BUDGET, MODEL_REFERENCE, load_method, with_budget
from bife_core.store import Store
from bife_core.store.home import Home, project_home
from bife_core.workers import Workers
from bife_core.workers.cluster import worker_pool

P = ParamSpec("P")
R = TypeVar("R")


class InstanceSet(Value):
    """The instances of one split, in order, and what a reader of results must know about them."""

    label: str
    instances: tuple[Instance, ...]
    notes: tuple[str, ...] = ()
    use: int = 0  # of test instances, the next that may promote a rule, 1 for the first; 0 if none may

    @property
    def content(self) -> str:
        """Hash of the instances in their order, wherever they lie."""
        return content_of(self.instances)


class PresentRun(Value):
    """The run that goes on: what names it on all its tries, when it was to begin, and whether it began before."""

    number: str = ""  # empty where it is not tried again
    scheduled: datetime = Field(default_factory=lambda: datetime.now(UTC))
    tried_again: bool = False
    stands_alone: bool = False  # the present stage is no part of another


class Conductor:
    """Does the steps of stages and shows what they come to; this one does each once, here, and shows nothing."""

    @property
    def present(self) -> PresentRun:
        """The run that goes on."""
        return PresentRun()

    def step(self, name: str, title: str, work: Callable[[], R]) -> R:
        """Do a part of a stage, which may be done again where it fails for another reason than itself."""
        return work()

    def stage(
        self, stage: Callable[Concatenate[PipelineConfig, Runtime, P], R], config: PipelineConfig,
        runtime: Runtime, *args: P.args, **kwargs: P.kwargs,
    ) -> R:  # fmt: skip
        """Run a stage as a part of another."""
        runtime.began_unix_s = time.time()
        return stage(config, runtime, *args, **kwargs)

    def model_key(self, config: GeneratorConfig) -> AbstractContextManager[None]:
        """Return a context in which a model API is called with a key that is kept for runs, if there is one."""
        return nullcontext()

    def show_generation(self, label: str, run: TrackedRun, state: SearchState) -> None:
        """Show where a search stands after a generation, beside what its observer is shown."""

    def conclude(self, label: str, stage: str, text: str) -> None:
        """Show the conclusion of a stage, in Markdown."""

    def announce(self, event: str, subject: str, payload: Mapping[str, Any]) -> None:
        """Announce an event about a subject to whoever acts on such."""


class Runtime:
    """What a stage runs in: the home, who is shown what happens, a tracker, a conductor, and processes that solve.

    By default the home is that of `project_home`, the observer is Python's logging, as ``bife``, and the store alone
    keeps what is done in this process, once.
    """

    def __init__(
        self,
        home: Home | None = None,
        observer: Observer | None = None,
        tracker: Tracker | None = None,
        conductor: Conductor | None = None,
        workers: Callable[[RunnerConfig], Workers] = worker_pool,
    ) -> None:
        self.home = home or project_home()
        self.observer = observer or Observer()
        self.tracker = tracker or Tracker(self.home)
        self.conductor = conductor or Conductor()
        self.workers = workers
        self.began_unix_s = time.time()

    @property
    def store(self) -> Store:
        """All records of the home."""
        return self.home.store

    @property
    def registry(self) -> Registry:
        """Registered rules, where the tracker keeps them."""
        return self.tracker.registry

    def method(self, reference: str) -> Method:
        """Return the method a reference names, as `load_method`, but a registered one from the registry here."""
        plain, budgeted, budget = reference.partition(BUDGET)
        if MODEL_REFERENCE.fullmatch(plain) is None:
            return load_method(reference)
        registered = self.registry.method(plain)
        return with_budget(registered, budget) if budgeted else registered

    def solving(self, config: PipelineConfig) -> SolveContext:
        """Return how instances are solved for F_HF."""
        return SolveContext(
            config.high, config.solver, self.workers(config.runner), self.store, self.observer.note
        )

    def benchmark(self, config: InstancesConfig) -> Entered:
        """Return the benchmark a configuration names, as `entered` in the home."""
        return entered(config, self.home, self.observer.progress)

    def instances(self, config: InstancesConfig, split: Split, count: int) -> InstanceSet:
        """Generate or find the instances of a split; a benchmark without usable instances is a `BifeError`."""

        def find() -> InstanceSet:
            opened = self.benchmark(config)
            chosen = tuple(opened.instances(split, count))
            return InstanceSet(label=opened.name, instances=chosen, notes=opened.notes)

        return self.conductor.step("instances", f"instances {split}", find)

    @contextmanager
    def alone(self, name: str, work: str) -> Iterator[None]:
        """Hold the claim on a piece of work; wait first while another process does the same."""

        def wait(holder: str) -> None:
            self.observer.note(f"Waiting: {work} is under way in {holder}; its results are then used.")

        with self.store.claim(name, waits=wait):
            yield

    def noted(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Pass texts to the observer, each once, and return them."""
        notes = tuple(dict.fromkeys(texts))
        for text in notes:
            self.observer.note(text)
        return notes

    def record(self, study: str, record: Record) -> TrackedRun:
        """Have the tracker keep a record whose files lie in the folder of a study."""
        kind, timed = study.partition("-")[0], record.model_copy(update={"began_unix_s": self.began_unix_s})
        title = f"write the {kind} to {self.tracker.name}"
        return self.conductor.step(f"track {kind}", title, lambda: self.tracker.record(study, timed))
