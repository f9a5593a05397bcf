"""One call that runs a search: what a researcher uses, and what the Prefect flow is made of too."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bife_core.benchmarks.base import Instance
from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.errors import ConfigError
from bife_core.evolution.briefing import Briefer
from bife_core.evolution.driver import Driver, Evolution
from bife_core.evolution.identity import evolution_facts, evolution_key, generator_identity
from bife_core.evolution.journal import Journal, Opened
from bife_core.evolution.watching import EvolutionState, Watcher
from bife_core.evolution.workshop import Executor, Workshop
from bife_core.generators import Account, Generator, open_generator
from bife_core.generators.calls import CallStore
from bife_core.sandbox import Note, WorkerPool, Workers
from bife_core.search import open_search
from bife_core.store import Store

CONCURRENT_WORK: Final = 16
"""Samples a model API is asked for at once; solves wait for a core whatever this is."""


def evolve(
    config: PipelineConfig,
    instances: Sequence[Instance],
    decisions: CollectionSummary | Path | str | None = None,
    *,
    folder: Path | str | Journal,
    benchmark: str = "models of one kind",
    training: Sequence[Instance] = (),
    generator: Generator | None = None,
    workers: Workers | int | None = None,
    solves: Store | None = None,
    executor: Executor | None = None,
    watcher: Watcher | None = None,
    note: Note | None = None,
    on_generation: Callable[[EvolutionState], None] | None = None,
) -> Evolution:
    """Run a search for a branching rule; call it again with the same arguments to go on where it stopped.

    Parameters
    ----------
    config : PipelineConfig
        Which search, its budget and how rules are scored, such as `preset("quick")`.
    instances : sequence of Instance
        What F_HF is measured on.
    decisions : CollectionSummary or Path, optional
        Recorded strong-branching decisions that F_LF is measured on, as `collect_decisions` returns them. A search
        that goes by F_LF needs them.
    folder : Path or Journal
        The run's: its journal makes it resumable. One that is open already has said which search it is.
    benchmark : str
        What is solved, in words for the prompt; a family's name is explained there.
    training : sequence of Instance
        What trials solve, for a search that makes some; the first of `instances` unless given.
    generator : Generator, optional
        Who writes the rules; by default the one that `config.generator` names.
    workers : Workers, int or None
        Processes that score and solve, or how many; None takes one per core. `InProcess()` does without.
    solves : Store, optional
        Where finished solves are kept, to be shared by several searches; by default the store of the search.
    executor : Executor, optional
        Who has work done at the same time; by default threads.
    note : callable, optional
        Told, in a sentence, what a person should know.
    on_generation : callable, optional
        Called with an `EvolutionState` after each generation.

    Returns
    -------
    Evolution
        The best rule, all samples, and what they cost.

    Raises
    ------
    ConfigError
        If the search goes by F_LF and there are no decisions, or there is no instance.
    GeneratorError
        If no further rule can be written until a person changes something.
    JournalError
        If `folder` holds another search.
    """
    search = open_search(config.search)
    if not instances:
        raise ConfigError("A search needs at least one instance to solve; `instances` is empty.")
    if not search.low_fidelity:
        decisions = None
    elif decisions is None:
        raise ConfigError(
            f"The search {config.search.method!r} goes by F_LF and needs recorded decisions: give those of "
            "`collect_decisions`, or choose method='bife_without_f_lf'."
        )
    count = search.training_instances
    training = tuple(training or instances)[:count]
    if len(training) < count:
        raise ConfigError(f"The search makes trials on {count} training instances, found {len(training)}.")
    path, digest, collection_s = _read(decisions)
    if isinstance(folder, Journal):
        journal = folder
    else:
        who = generator_identity(config.generator) if generator is None else {"name": generator.name}
        key = evolution_key(evolution_facts(config, benchmark, who, digest, instances, training))
        origin = config.origin_of_rules if generator is None else generator.name
        name = f"{benchmark} {config.search.method}"
        journal = Journal(Path(folder), Opened(key=key, name=name, origin=origin))
    until_unix_s = journal.until_unix_s(config.budget.hours)
    account = Account(CallStore(journal.store, journal.key), config.budget, until_unix_s)
    with ExitStack() as opened:
        if workers is None or isinstance(workers, int):
            workers = WorkerPool(workers)
            opened.callback(workers.close)
        workshop = Workshop(
            briefer=Briefer(benchmark, instances, path, config.low, config.high, workers),
            generator=generator or open_generator(config.generator, account),
            account=account,
            pool=workers,
            solves=solves or journal.store,
            low=config.low,
            high=config.high,
            decisions=path,
            design=instances,
            training=training,
            note=note,
            repair=config.generator.repair,
        )
        executor = executor or opened.enter_context(ThreadPoolExecutor(CONCURRENT_WORK))
        driver = Driver(
            search,
            config.search,
            journal,
            workshop,
            executor,
            collection_s=collection_s,
            watcher=watcher,
            on_generation=on_generation,
        )
        return driver.run()


def _read(decisions: CollectionSummary | Path | str | None) -> tuple[Path | None, str | None, float]:
    """Return file, digest and cost in CPU seconds of recorded decisions."""
    if decisions is None:
        return None, None, 0.0
    if isinstance(decisions, CollectionSummary):
        return decisions.path, decisions.digest, decisions.cpu_s
    path = Path(decisions)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()[:16], 0.0
