"""A study: one search for a branching rule with its events in a store, to be run, extended, read and plotted."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd

from bife_core.benchmarks.base import Instance
from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.errors import ConfigError, DecisionsError
from bife_core.evaluation.interface import given_instances
from bife_core.generators import Account, Generator, open_generator
from bife_core.plugins import code_revision
from bife_core.presets import PresetName, preset, with_overrides
from bife_core.sandbox import Note, WorkerPool, Workers
from bife_core.search import Sample, SampleRequest, Search, open_search
from bife_core.search.config import SearchConfig
from bife_core.store import Store
from bife_core.study.driver import Driver, Evolution
from bife_core.study.evaluator import Evaluator, Executor
from bife_core.study.files import sample_rows
from bife_core.study.identity import evolution_facts, evolution_key, generator_identity
from bife_core.study.journal import (
    Completed,
    Drafted,
    Ended,
    HighScored,
    Journal,
    Opened,
    Settled,
)
from bife_core.study.prompt_context import ContextBuilder
from bife_core.study.watching import EvolutionState, Watcher

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONCURRENT_WORK: Final = 16
"""Samples a model API is asked for at once; solves wait for a core whatever this is."""

_BAR: Final = 20
_BENCHMARK: Final = "models of one kind"

Given = str | Path | Instance
"""An instance as users name it: a file, a folder of files, or an instance of a benchmark."""

MakeSearch = Callable[[SearchConfig], Search]

Callback = Callable[["Study", EvolutionState], object]


@dataclass(repr=False)
class Study:
    """A search for a branching rule; `create_study` makes one, and opens it again.

    Attributes
    ----------
    config : PipelineConfig
        Its settings; an extension raises ``search.samples``.
    instances, training : tuple of Instance
        What F_HF is measured on, and what trials solve.
    decisions : Path or None
        Recorded decisions that F_LF is measured on.
    journal : Journal
        Its events, in the order they happened; `journal.key` is the key of the study in the store.
    """

    config: PipelineConfig
    instances: tuple[Instance, ...]
    training: tuple[Instance, ...]
    decisions: Path | None
    journal: Journal
    benchmark: str = _BENCHMARK
    search: Search | MakeSearch | None = None
    generator: Generator | None = None
    workers: Workers | int | None = None
    solve_store: Store | None = None
    executor: Executor | None = None
    watcher: Watcher | None = None
    note: Note | None = None
    collection_s: float = 0.0
    _claimed: bool = field(default=False, init=False)
    _last: Evolution | None = field(default=None, init=False)

    def run(
        self,
        samples: int | None = None,
        generations: int | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        progress: bool | None = None,
    ) -> Evolution:
        """Run the search from where it stands; run a search that is over with `samples` to extend it.

        A run that is interrupted anywhere, by kill -9 too, is continued by the next call, in this process or another.

        Parameters
        ----------
        samples : int, optional
            How many further rules to sample; None samples what is left of ``config.search.samples``.
        generations : int, optional
            Pause after so many new generations.
        callbacks : sequence of callable
            Each is called with the study and an `EvolutionState` after each generation.
        progress : bool, optional
            Whether a progress bar is written to standard error; by default if that is a terminal.

        Returns
        -------
        Evolution
            The best rule, all samples, and what they cost.

        Raises
        ------
        ConfigError
            If `samples` or `generations` is not positive, or the search cannot be extended.
        GeneratorError
            If no further rule can be written until a person changes something.
        """
        for name, number in (("samples", samples), ("generations", generations)):
            if number is not None and number < 1:
                raise ConfigError(f"{name} was expected to be at least 1 and is {number}.")
        with self.claimed(), ExitStack() as opened:
            limit = self._extend(samples)
            config = self.config
            journal, workers = self.journal, self.workers
            if workers is None or isinstance(workers, int):
                workers = WorkerPool(workers)
                opened.callback(workers.close)
            account = Account(
                journal.store,
                journal.key,
                config.budget,
                journal.until_unix_s(config.budget.hours),
                limit,
            )
            evaluator = Evaluator(
                context_builder=ContextBuilder(
                    self.benchmark, self.instances, self.decisions, config.low, config.high, workers
                ),
                generator=self.generator or open_generator(config.generator, account),
                account=account,
                pool=workers,
                solves=self.solve_store or journal.store,
                low=config.low,
                high=config.high,
                decisions=self.decisions,
                design=self.instances,
                training=self.training,
                note=self.note,
                repair=config.generator.prompts == "informed",
            )
            watcher = self.watcher
            if watcher is None and (sys.stderr.isatty() if progress is None else progress):
                watcher = opened.enter_context(_Bar(config.search.samples))

            def generation_ended(state: EvolutionState) -> None:
                if isinstance(watcher, _Bar):
                    watcher.generation(state)
                for callback in callbacks:
                    callback(self, state)

            driver = Driver(
                self._new_search(config),
                config.search,
                journal,
                evaluator,
                self.executor or opened.enter_context(ThreadPoolExecutor(CONCURRENT_WORK)),
                collection_s=self.collection_s,
                watcher=watcher,
                on_generation=generation_ended,
                generations=generations,
            )
            self._last = driver.run()
            return self._last

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other processes from running the same study inside; they wait, and then find what this one found."""
        if self._claimed:
            yield
            return
        with self.journal.store.claim(f"study {self.journal.key}"):
            self.journal.refresh()
            self._claimed = True
            try:
                yield
            finally:
                self._claimed = False

    @property
    def done(self) -> bool:
        """Whether the search is over: all its samples are made and scored."""
        return self.journal.end(self.config.search.samples) is not None

    @property
    def best(self) -> Sample | None:
        """The best rule so far, by the fidelity the search goes by; None while there is none."""
        last = self.journal.entries[-1]
        if isinstance(last, Ended):
            return last.best
        valid = [sample for sample in self._samples if sample.valid]
        high = [sample for sample in valid if sample.f_hf is not None]
        if high:
            return max(high, key=lambda sample: sample.f_hf or 0.0)
        low = [sample for sample in valid if sample.f_lf is not None]
        return max(low, key=lambda sample: sample.f_lf or 0.0, default=None)

    @property
    def samples(self) -> pd.DataFrame:
        """All finalised samples, best first: id, f_hf, f_lf, operator, generation, parents, failure, source, ..."""
        return pd.DataFrame(sample_rows(self._samples))

    @property
    def solves(self) -> pd.DataFrame:
        """All solves of design instances for F_HF, one row each: sample, instance, status, cpu_s, nodes, gap, ..."""
        rows = [
            {"sample": entry.id, **result.model_dump(exclude={"trace"})}
            for entry in self.journal.entries
            if isinstance(entry, HighScored)
            for result in entry.score.results
        ]
        return pd.DataFrame(rows)

    def plot_progress(self) -> Figure:
        """Draw the best fidelities by generation."""
        from bife_core import plots

        return plots.progress([e.summary for e in self.journal.entries if isinstance(e, Completed)])

    def plot_fidelities(self) -> Figure:
        """Draw F_HF against F_LF of all samples that have both."""
        from bife_core import plots

        return plots.fidelity_scatter(self._samples)

    def plot_lineage(self) -> Figure:
        """Draw from which samples the best rule descends.

        Raises
        ------
        ConfigError
            If there is no valid rule yet.
        """
        from bife_core import plots

        if self.best is None:
            raise ConfigError("The study has no valid rule yet; run it first.")
        return plots.lineage(self._samples, self.best.id)

    def __repr__(self) -> str:
        best = self.best
        value = None if best is None else best.f_lf if best.f_hf is None else best.f_hf
        worth = (
            "no rule yet" if best is None else f"best {best.id} {value:.4g}" if value is not None else best.id
        )
        state = "done" if self.done else "not done"
        count = f"{self._sampled} of {self.config.search.samples} samples"
        return f"Study({self.config.search.method}, {count}, {worth}, {state})"

    @property
    def _samples(self) -> list[Sample]:
        settled = [entry.sample for entry in self.journal.entries if isinstance(entry, Settled)]
        run = self._last.samples if self._last is not None else ()
        return list(
            ({sample.id: sample for sample in settled} | {sample.id: sample for sample in run}).values()
        )

    @property
    def _sampled(self) -> int:
        """Rules that the generator was asked for."""
        drafted = (entry.request for entry in self.journal.entries if isinstance(entry, Drafted))
        return sum(isinstance(request, SampleRequest) and request.source is None for request in drafted)

    def _new_search(self, config: PipelineConfig) -> Search:
        if self.search is None:
            return open_search(config.search)
        return self.search(config.search) if callable(self.search) else deepcopy(self.search)

    def _extend(self, samples: int | None) -> int | None:
        """Make room for so many further samples, and return how many there may be then; None for all of the search."""
        if samples is None:
            return None
        wanted = self._sampled + samples
        if wanted > self.config.search.samples:
            if self.search is not None and not callable(self.search):
                raise ConfigError(
                    "A search given as an object cannot be extended: give its name, or its class, which makes one "
                    "from a SearchConfig."
                )
            search = self.config.search.model_copy(update={"samples": wanted})
            self.config = self.config.model_copy(update={"search": search})
        return wanted


def create_study(
    config: PipelineConfig | PresetName,
    instances: Given | Iterable[Given],
    decisions: CollectionSummary | Path | str | None = None,
    *,
    store: Store | Path | str | None = None,
    folder: Path | str | Journal | None = None,
    benchmark: str = _BENCHMARK,
    training: Given | Iterable[Given] = (),
    search: str | Search | MakeSearch | None = None,
    generator: Generator | None = None,
    workers: Workers | int | None = None,
    solves: Store | None = None,
    executor: Executor | None = None,
    watcher: Watcher | None = None,
    note: Note | None = None,
) -> Study:
    """Create a study in a store, or open it if the store holds the same one: equal settings, instances and decisions.

    Parameters
    ----------
    config : PipelineConfig or str
        Settings, or the name of a preset such as ``"quick"``.
    instances : paths, folders or instances
        What F_HF is measured on.
    decisions : CollectionSummary or path, optional
        Recorded strong-branching decisions that F_LF is measured on, as `collect_decisions` returns them. A search
        that goes by F_LF needs them.
    store : Store, path or URL, optional
        Where events, model calls and solves are kept; by default a store in `folder`.
    folder : Path or Journal, optional
        Where the files of the study are written; by default a folder below that of the store. One of both is needed.
    benchmark : str
        What is solved, in words for the prompt; a family's name is explained there.
    training : paths, folders or instances
        What trials solve, for a search that makes some; the first of `instances` unless given.
    search : str, callable or Search, optional
        Name of a registered search, a class or function that makes one from a `SearchConfig`, or a new search; by
        default ``config.search.method``.
    generator : Generator, optional
        What writes rules; by default what `config.generator` names.
    workers : Workers, int or None
        Processes that score and solve, or how many; None takes one per core. `InProcess()` does without.
    solves : Store, optional
        Where finished solves are kept if not in `store`.

    Raises
    ------
    ConfigError
        If a setting or path cannot be used, or the search goes by F_LF and there are no decisions.
    JournalError
        If `folder` has a store of its own that holds another search.

    Examples
    --------
    >>> study = create_study("quick", "instances/", decisions, store="bife")  # doctest: +SKIP
    >>> study.run()  # doctest: +SKIP
    >>> study.run(samples=20)  # 20 more  # doctest: +SKIP
    """
    if isinstance(config, str):
        config = preset(config)
    if not isinstance(config, PipelineConfig):
        raise ConfigError(
            f"config was expected to be a PipelineConfig or the name of a preset and is {config!r}."
        )
    if isinstance(search, str):
        config, search = with_overrides(config, {"search.method": search}), None
    design, tried = _instances(instances), _instances(training)
    own = (
        open_search(config.search)
        if search is None
        else search(config.search)
        if callable(search)
        else search
    )
    if not design:
        raise ConfigError("A search needs at least one instance to solve; `instances` is empty.")
    if not own.low_fidelity:
        decisions = None
    elif decisions is None:
        raise ConfigError(
            f"The search {config.search.method!r} goes by F_LF and needs recorded decisions: give those of "
            "`collect_decisions`, or choose method='bife_without_f_lf'."
        )
    count = own.training_instances
    tried = (tried or design)[:count]
    if len(tried) < count:
        raise ConfigError(f"The search makes trials on {count} training instances, found {len(tried)}.")
    path, digest, collection_s = _read(decisions)
    if isinstance(folder, Journal):
        journal = folder
    else:
        who = generator_identity(config.generator) if generator is None else {"name": generator.name}
        facts = evolution_facts(config, benchmark, who, digest, design, tried)
        if search is not None:
            made = search if callable(search) else type(search)
            facts |= {
                "made_by": f"{made.__module__}.{getattr(made, '__qualname__', '')} {code_revision(made)}"
            }
        key = evolution_key(facts)
        origin = config.origin_of_rules if generator is None else generator.name
        opened = Opened(key=key, name=f"{benchmark} {config.search.method}", origin=origin)
        if store is not None and not isinstance(store, Store):
            store = Store(store)
        if folder is None:
            if store is None or store.folder is None:
                raise ConfigError(
                    "A study needs a place for its files: give `folder`, or a `store` in a folder."
                )
            folder = store.folder / "runs" / key
        journal = Journal(Path(folder), opened, store=store)
    return Study(
        config=config,
        instances=design,
        training=tried,
        decisions=path,
        journal=journal,
        benchmark=benchmark,
        search=search,
        generator=generator,
        workers=workers,
        solve_store=solves,
        executor=executor,
        watcher=watcher,
        note=note,
        collection_s=collection_s,
    )


def evolve(
    config: PipelineConfig | PresetName,
    instances: Given | Iterable[Given],
    decisions: CollectionSummary | Path | str | None = None,
    *,
    folder: Path | str | Journal,
    benchmark: str = _BENCHMARK,
    training: Given | Iterable[Given] = (),
    search: str | Search | MakeSearch | None = None,
    generator: Generator | None = None,
    workers: Workers | int | None = None,
    solves: Store | None = None,
    executor: Executor | None = None,
    watcher: Watcher | None = None,
    note: Note | None = None,
    on_generation: Callable[[EvolutionState], object] | None = None,
) -> Evolution:
    """Run a search for a branching rule; call it again with the same arguments to go on where it stopped.

    It is `create_study` and one `Study.run`; see there for the parameters and errors.

    Parameters
    ----------
    on_generation : callable, optional
        Called with an `EvolutionState` after each generation.

    Returns
    -------
    Evolution
        The best rule, all samples, and what they cost.
    """
    study = create_study(
        config,
        instances,
        decisions,
        folder=folder,
        benchmark=benchmark,
        training=training,
        search=search,
        generator=generator,
        workers=workers,
        solves=solves,
        executor=executor,
        watcher=watcher,
        note=note,
    )
    called = on_generation
    return study.run(callbacks=() if called is None else (lambda _, state: called(state),), progress=False)


class _Bar(Watcher):
    """A progress bar on one line of standard error."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._what = self._found = ""
        self._sampled = 0

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr.write("\n")

    def activity(self, text: str) -> None:
        self._what = text
        self._show()

    def progress(self, done: int, total: int) -> None:
        self._show(f" ({done}/{total})")

    def generation(self, state: EvolutionState) -> None:
        """Take note of a completed generation."""
        best = state.best_f_hf if state.best_f_hf is not None else state.best_f_lf
        self._sampled = state.samples_total
        self._found = "" if best is None else f", best {best:.4g}"
        self._show()

    def _show(self, part: str = "") -> None:
        filled = _BAR * min(self._sampled, self._total) // self._total
        bar = "#" * filled + "-" * (_BAR - filled)
        text = f"[{bar}] {self._sampled}/{self._total} rules{self._found}: {self._what}{part}"
        sys.stderr.write(f"\r\x1b[K{text[:120]}")
        sys.stderr.flush()


def _instances(given: Given | Iterable[Given]) -> tuple[Instance, ...]:
    if isinstance(given, str | Path | Instance):
        given = (given,)
    listed = tuple(given)
    instances = tuple(one for one in listed if isinstance(one, Instance))
    return instances if len(instances) == len(listed) else given_instances(listed)


def _read(decisions: CollectionSummary | Path | str | None) -> tuple[Path | None, str | None, float]:
    """Return file, digest and cost in CPU seconds of recorded decisions."""
    if decisions is None:
        return None, None, 0.0
    if isinstance(decisions, CollectionSummary):
        return decisions.path, decisions.digest, decisions.cpu_s
    if not isinstance(decisions, str | Path):
        raise ConfigError(
            f"decisions was expected to be what `collect_decisions` returns, or its file, and is {decisions!r}."
        )
    path = Path(decisions).expanduser()
    try:
        return path, hashlib.sha256(path.read_bytes()).hexdigest()[:16], 0.0
    except OSError as error:
        raise DecisionsError(
            f"{path} was expected to be a file of recorded decisions and cannot be read ({error.strerror or error}); "
            "record decisions with `collect_decisions`."
        ) from error
