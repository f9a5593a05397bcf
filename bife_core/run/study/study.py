"""A study: one search for a branching rule with its events in a store, to be run, extended, read and plotted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Lock, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError
from bife_core.base.plugins import code_revision
from bife_core.base.values import as_params
from bife_core.instances.base import Instance, marks
from bife_core.measure.context import SolveContext
from bife_core.measure.decisions.collection import CollectionSummary
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.evaluation.compare import Given, given_instances
from bife_core.run.config import InstancesConfig, PipelineConfig
from bife_core.run.observer import Observer, SearchState
from bife_core.run.presets import PresetName, preset, with_overrides
from bife_core.run.show import plots
from bife_core.run.study.engine import Engine, SearchOutcome
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.files import sample_rows
from bife_core.run.study.identity import VERSION, search_facts, search_key
from bife_core.run.study.journal import Completed, Journal, Opened, claim_on
from bife_core.run.study.prompt_context import ContextBuilder
from bife_core.search import BaseSearch, Sample, SampleRequest, open_search
from bife_core.search.config import SearchConfig
from bife_core.search.generators import Account, Generator, open_generator
from bife_core.search.population import by_high_fidelity, by_low_fidelity
from bife_core.solver.methods.configuration import Configuration
from bife_core.store import Store
from bife_core.store.home import Home
from bife_core.workers import WorkerPool, Workers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_BENCHMARK: Final = "instances of one kind"

MakeSearch = Callable[[SearchConfig], BaseSearch]


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
        Its events, in order; `journal.key` is the key of the study in the store.
    beside : dict
        F_HF to be shown beside that of rules and RPB, by name.
    rest : Configuration or None
        Configuration in which rules or starts are tried.
    """

    config: PipelineConfig
    instances: tuple[Instance, ...]
    training: tuple[Instance, ...]
    decisions: Path | None
    journal: Journal
    benchmark: str = _BENCHMARK
    search: MakeSearch = open_search
    generator: Generator | None = None
    workers: Workers | int | None = None
    observer: Observer = field(default_factory=Observer)
    collection_s: float = 0.0
    beside: dict[str, float] = field(default_factory=dict)
    rest: Configuration | None = None
    _engine: Engine | None = field(default=None, init=False)
    _last: SearchOutcome | None = field(default=None, init=False)
    _alone: Lock = field(default_factory=Lock, init=False)
    _claimed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        about = self.config.generator.about or self.benchmark
        self.context = ContextBuilder(about, self.instances, self.decisions, self.config)

    @checked
    def run(
        self,
        samples: int | None = None,
        generations: int | None = None,
        callbacks: Sequence[Callable[[Study, SearchState], object]] = (),
    ) -> SearchOutcome:
        """Run the search from where it stands, also after its process was killed.

        Ctrl-C (an interrupt in a notebook) drops what is under way and is raised as `KeyboardInterrupt` within seconds.

        Parameters
        ----------
        samples, generations : int, optional
            Sample so many further rules, even if the search is over; pause after so many new generations. By default
            what is left of ``config.search.samples`` is sampled.
        callbacks : sequence of callable
            Each is called with the study and a `SearchState` after each generation.

        Raises
        ------
        ConfigError, GeneratorError
            If the search cannot be extended, or no rule can be written until a person changes something.
        """
        if any(number is not None and number < 1 for number in (samples, generations)):
            raise ConfigError("samples and generations of a run were expected to be 1 or more.")
        if current_thread() is main_thread() and (ctrl_c := signal.getsignal(signal.SIGINT)) is not None:
            # SCIP keeps it for itself after a solve of the user's that failed, or several at once.
            signal.signal(signal.SIGINT, ctrl_c)
        with self._alone, self.claim(), ExitStack() as opened:
            self.journal.store.serve(marks([*self.instances, *self.training]), "design")
            limit = self._extend(samples)

            def generation_ended(state: SearchState) -> None:
                self.observer.generation(state)
                for callback in callbacks:
                    callback(self, state)

            config, engine, self._engine = self.config.search, self._engine, None
            engine = engine or Engine(self.search(config), config, self.journal, self.collection_s)
            self._last = engine.run(
                self._evaluator(opened), self.observer, generation_ended, generations, limit
            )
            # One that paused goes on where it is; after anything else the events say where that is.
            self._engine = engine if engine.paused else None
            return self._last

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other processes from this study during several runs; wait for one that runs it now."""
        if self._claimed:
            yield
            return
        journal, name = self.journal, claim_on(self.journal.key)

        def wait(holder: str) -> None:
            self.observer.note(f"Waiting: the {name} is under way in {holder}; its results are then used.")

        with journal.store.claim(name, waits=wait), ExitStack() as held:
            held.callback(journal.halt)
            if journal.refresh():
                self._engine = None
            self._claimed = True
            try:
                yield
            finally:
                self._claimed = False
            if journal.started:
                journal.stop("Paused; the next run goes on.", by_person=True)

    @property
    def done(self) -> bool:
        """Whether the search is over: all its samples are made and scored."""
        return self.journal.end(self.config.search.samples) is not None

    @property
    def best(self) -> Sample | None:
        """The best rule so far, by the fidelity the search goes by; None while there is none."""
        ranked = by_high_fidelity(self._samples) or by_low_fidelity(self._samples)
        return next(iter(ranked), None)

    @property
    def samples(self) -> pd.DataFrame:
        """All finished samples, best first: id, f_hf, f_lf, operator, generation, parents, failure, source, ..."""
        import pandas as pd  # here, for it takes long to load and only tables need it

        return pd.DataFrame(sample_rows(self._samples))

    @property
    def solves(self) -> pd.DataFrame:
        """All solves of design instances for F_HF, one row each: sample, instance, status, cpu_s, nodes, gap, ..."""
        import pandas as pd

        return pd.DataFrame(
            {"sample": name, **result.model_dump()}
            for name, score in self.journal.solved.items()
            for result in score.results
        )

    def plot_progress(self) -> Figure:
        """Draw the best fidelities by generation."""
        return plots.progress([entry.summary for entry in self.journal.of(Completed)])

    def plot_fidelities(self) -> Figure:
        """Draw F_HF against F_LF of all samples that have both."""
        completed = self.journal.of(Completed)
        return plots.fidelity_scatter(self._samples, completed[-1].summary.tau if completed else None)

    def __repr__(self) -> str:
        best = "no rule yet" if self.best is None else f"best {self.best.id}"
        count = f"{self._sampled} of {self.config.search.samples} samples"
        return (
            f"Study({self.config.search.algorithm}, {count}, {best}, {'done' if self.done else 'not done'})"
        )

    @property
    def _samples(self) -> list[Sample]:
        run = self._last.samples if self._last is not None else ()
        return list((self.journal.samples | {sample.id: sample for sample in run}).values())

    @property
    def _sampled(self) -> int:
        """Rules that the generator was asked for."""
        requests = (answer.request for answer in self.journal.answers("sample").values())
        return sum(isinstance(request, SampleRequest) and request.source is None for request in requests)

    def _evaluator(self, opened: ExitStack) -> Evaluator:
        config, journal, workers = self.config, self.journal, self.workers
        if not isinstance(workers, Workers):
            workers = WorkerPool(workers)
            opened.callback(workers.close)
        hours, stopped = config.budget.hours, Event()

        def over() -> bool:
            return stopped.is_set() or (hours is not None and journal.elapsed_s >= 3600.0 * hours)

        account = Account(journal.store, journal.key, config.budget, over, self.observer.note)
        return Evaluator(
            config=config,
            context=self.context,
            generator=self.generator or open_generator(config.generator, account),
            account=account,
            solving=SolveContext(
                config.high, config.solver, workers, journal.store, self.observer.note, over, self.rest
            ),
            decisions=self.decisions,
            folder=journal.folder,
            design=self.instances,
            training=self.training,
            beside=self.beside,
            stopped=stopped,
        )

    def _extend(self, samples: int | None) -> int | None:
        """Make room for so many further samples, and return how many there may be then; None for all of the search."""
        if samples is None:
            return None
        wanted = self._sampled + samples
        if wanted > self.config.search.samples:
            search = self.config.search.model_copy(update={"samples": wanted})
            self.config, self._engine = self.config.model_copy(update={"search": search}), None
        return wanted


@checked
def create_study(
    config: PipelineConfig | PresetName,
    instances: Given | Iterable[Given],
    decisions: CollectionSummary | Path | str | None = None,
    *,
    store: Home | Store | Path | str | None = None,
    folder: Path | str | None = None,
    benchmark: InstancesConfig | str = _BENCHMARK,
    training: Given | Iterable[Given] = (),
    search: str | MakeSearch | None = None,
    generator: Generator | None = None,
    workers: Workers | int | None = None,
    observer: Observer | None = None,
    rest: Configuration | None = None,
) -> Study:
    """Create a study in a store, or open it if the store holds the same one: equal settings, instances and decisions.

    Parameters
    ----------
    config : PipelineConfig or str
        Settings, or the name of a preset such as ``"quick"``.
    instances : paths, folders or instances
        What F_HF is measured on.
    decisions : CollectionSummary or path, optional
        Recorded strong-branching decisions, as `collect_decisions` returns them. A search that goes by F_LF needs them.
    store, folder : Home, Store, path or URL, optional
        Where events, model calls and solves are kept, by default in `folder`; where the files of the study are
        written, by default below `runs` in the folder of the store. One of the two is needed.
    benchmark : InstancesConfig or str
        What is solved, in words for the prompt and for lists of studies; the prompt explains a family's name.
    training : paths, folders or instances
        What trials solve, if the search makes some; again and again if they are few. `instances` by default.
    search : str or callable, optional
        Name of a registered search, or what makes one from a `SearchConfig`; by default ``config.search.algorithm``.
    generator : Generator, optional
        What writes rules; by default what `config.generator` names.
    workers : Workers, int or None
        Processes that score and solve, or how many; None takes one per core. `InProcess()` does without.
    observer : Observer, optional
        What learns how far it is; by default Python's logging, as ``bife``.
    rest : Configuration, optional
        Configuration in which rules or starts are tried, in place of its own.

    Raises
    ------
    ConfigError
        If a setting or path cannot be used, or the search goes by F_LF and there are no decisions.
    JournalError
        If `folder` has a store of its own that holds another search.
    """
    if not isinstance(config, PipelineConfig):
        config = preset(config)
    if isinstance(workers, int) and workers < 1:
        raise ConfigError(f"workers was expected to be 1 or more and is {workers}.")
    if isinstance(search, str):
        config, search = with_overrides(config, {"search.algorithm": search}), None
    words, label, params = str(benchmark), str(benchmark), dict[str, Any]()
    if isinstance(benchmark, InstancesConfig):
        words, label = benchmark.kind, benchmark.label
        params = as_params({"instances": benchmark.model_dump(mode="json")})
    design, tried = given_instances(instances), given_instances(training) if training else ()
    searching = (search or open_search)(config.search)
    if not searching.reads_decisions:
        decisions = None
    elif decisions is None:
        raise ConfigError(
            f"The search {config.search.algorithm!r} goes by F_LF and needs recorded decisions: give those of "
            "`collect_decisions`, or choose search='bife_without_f_lf'."
        )
    tried = tuple(islice(cycle(tried or design), searching.training_instances))
    path, digest, collection_s = _read(decisions)
    writer = None if generator is None else {"name": generator.name}
    facts = search_facts(config, label, digest, design, tried, writer, rest)
    if search is not None:
        name = getattr(search, "__qualname__", "")
        facts |= {"made_by": f"{search.__module__}.{name} {code_revision(search)}"}
    key = search_key(facts)
    runs = None
    if isinstance(store, Home):
        runs, store = store.runs, store.store
    elif store is not None and not isinstance(store, Store):
        store = Store(store)
    if folder is None:
        if runs is None and store is not None and store.folder is not None:
            runs = store.folder / "runs"
        if runs is None:
            raise ConfigError("A study needs a place for its files: give `folder`, or a `store` in a folder.")
        folder = runs / key
    origin = searching.origin or (config.generator.kind if generator is None else generator.name)
    opened = Opened(
        key=key,
        version=VERSION,
        name=f"{label} {config.search.algorithm} {origin} seed {config.search.seed}",
        params=as_params(facts) | {"search.samples": config.search.samples} | params,
        tags={"benchmark": label, "search": config.search.algorithm},
        origin=origin,
    )
    journal, observer = Journal(Path(folder), opened, store=store), observer or Observer()
    searches = journal.store.studies("search") if len(journal.entries) == 1 else ()
    for row in (row for row in searches if row.name == opened.name and row.key != key):
        first = next(journal.store.events(row.key, kinds=("opened",)), None)
        if first is not None and first.body.get("version") != VERSION:
            observer.note(
                f"The search {row.key} of the same name was stored by another version of BiFE, which alone can go on "
                "with it: this one begins anew."
            )
    if isinstance(decisions, CollectionSummary):
        journal.store.serve(decisions.digests, "collection")
    return Study(
        config=config,
        instances=design,
        training=tried,
        decisions=path,
        journal=journal,
        benchmark=words,
        search=search or open_search,
        generator=generator,
        workers=workers,
        observer=observer,
        collection_s=collection_s,
        rest=rest,
    )


def _read(decisions: CollectionSummary | Path | str | None) -> tuple[Path | None, str | None, float]:
    """Return file, digest and cost in CPU seconds of recorded decisions."""
    if decisions is None:
        return None, None, 0.0
    summary = decisions if isinstance(decisions, CollectionSummary) else None
    path = summary.path if summary else Path(str(decisions)).expanduser()
    with suppress(OSError):
        # The time of the file says that it is used: the store of the study may not be that of the file's home.
        os.utime(path)
    return (path, summary.digest, summary.cpu_s) if summary else (path, Decisions.load(path).digest, 0.0)
