"""A search for a rule, one generation after the other."""

from __future__ import annotations

from functools import partial
from typing import Final

from bife_core.base.errors import GeneratorError
from bife_core.instances.base import Instance
from bife_core.language.components import COMPONENTS
from bife_core.measure.decisions.collection import CollectionSummary
from bife_core.run.config import PipelineConfig
from bife_core.run.settings import settings_of
from bife_core.run.stages.collect import collect
from bife_core.run.stages.conclusions import search_conclusion
from bife_core.run.stages.resolve import resolved
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.run.study import SearchOutcome, SearchState, Study, create_study
from bife_core.run.study.journal import Completed
from bife_core.search import open_search
from bife_core.search.generators import Account, Generator, open_generator
from bife_core.solver.methods.configuration import Configuration

SEARCH_ENDED: Final = "bife.search.ended"
"""Event; its payload: `rule`, a reference to the best rule, and `config`, all settings of the search."""

NO_RULE: Final = "bife.search.without-rule"
"""Event of a search without a rule that is known to be faster than RPB; its payload: `reason`, a sentence."""

NEARLY_USED: Final = "bife.budget.nearly-used"
"""Event of a search that has used `NEARLY` of a limit of its budget, once for each; its payload: `reason`."""

NEARLY: Final = 0.8


def require_generator(config: PipelineConfig, runtime: Runtime) -> None:
    """Raise `GeneratorError` or `ConfigError` before anything is spent if rules cannot be written."""
    generator = open_generator(config.generator, Account(runtime.store, "", config.budget))
    if getattr(generator, "needs_features", False) and not COMPONENTS.find(config.search.component).features:
        raise GeneratorError(
            f"The generator {config.generator.kind!r} writes formulas of features, and the component "
            f"{config.search.component!r} has none: choose a language model (openai) or recorded answers (replay)."
        )


def search(
    config: PipelineConfig,
    runtime: Runtime,
    decisions: CollectionSummary | None = None,
    beside: dict[str, float] | None = None,
    rest: Configuration | None = None,
) -> SearchOutcome:
    """Search for a rule, or another part of a configuration; with the same settings it goes on where it stopped.

    The `decisions` of F_LF are collected first if they are needed and not given. F_HF of others is shown `beside` that
    of rules, by name. The `rest` of a configuration is solved with.
    """
    config = resolved(config, runtime)
    require_generator(config, runtime)
    study, notes = opened(config, runtime, decisions, rest=rest)
    about = f"{config.search.algorithm}, {config.search.samples} samples, {config.origin_of_rules}"
    runtime.observer.stage("search", about)
    study.beside = beside or {}
    with runtime.conductor.model_key(config.generator), study.claim():
        result = _run(study, runtime, notes)
    runtime.conductor.conclude(config.instances.label, "search", search_conclusion(result))
    # Who runs the same again wishes for no second evaluation; a run that was killed may not have asked for its first.
    if result.new or runtime.conductor.present.tried_again:
        subject = f"search.{result.key}"
        if result.best is None:
            runtime.conductor.announce(NO_RULE, subject, {"reason": result.sentence})
        elif result.run.run_id and runtime.conductor.present.stands_alone:
            payload = {"rule": f"runs:/{result.run.run_id}", "config": settings_of(config)}
            runtime.conductor.announce(SEARCH_ENDED, subject, payload)
    return result


def opened(
    config: PipelineConfig,
    runtime: Runtime,
    decisions: CollectionSummary | None = None,
    generator: Generator | None = None,
    rest: Configuration | None = None,
) -> tuple[Study, tuple[str, ...]]:
    """Return the study of a resolved configuration, and notes on instances."""
    search = open_search(config.search)
    if not search.reads_decisions:
        decisions = None
    elif decisions is None:
        decisions = runtime.conductor.stage(collect, config, runtime, rest).summary
    design = runtime.instances(config.instances, "design", config.high.instances)
    training, notes = _training(config, runtime, design, search.training_instances)
    study = create_study(
        config,
        design.instances,
        decisions,
        store=runtime.home,
        benchmark=config.instances,
        training=training,
        generator=generator,
        workers=runtime.workers(config.runner),
        observer=runtime.observer,
        rest=rest,
    )
    study.journal.provenance = runtime.tracker.provenance()
    return study, (*design.notes, *notes)


def _run(study: Study, runtime: Runtime, notes: tuple[str, ...]) -> SearchOutcome:
    """Run the generations; after each, what tracks the search is brought up to date."""
    journal, label, states = study.journal, study.config.instances.label, list[SearchState]()
    nearly_used, subject = set[str](), f"search.{study.journal.key}"
    runtime.tracker.follow(journal.key)
    new = False
    more = partial(study.run, generations=1, callbacks=[lambda _, state: states.append(state)])
    try:
        while True:
            generation = len(journal.of(Completed))
            search = runtime.conductor.step("generation", f"generation {generation}", more)
            new, run = new or search.new, runtime.tracker.follow(journal.key)
            for state in states[-1:]:
                runtime.conductor.show_generation(label, run, state)
                for limit, used in state.budget_used.items():
                    # The limits may have been raised since an earlier run.
                    if used >= NEARLY and limit not in nearly_used and not state.replayed:
                        nearly_used.add(limit)
                        reason = f"{100 * used:.0f} % of the limit on {limit} is used."
                        runtime.conductor.announce(NEARLY_USED, subject, {"reason": reason})
            states.clear()
            if search.ended_by is not None and not nearly_used:  # within a generation
                runtime.conductor.announce(NEARLY_USED, subject, {"reason": search.ended_by})
            if study.done or search.ended_by is not None:
                break
    finally:
        run = runtime.tracker.follow(journal.key)
    differing = (f"Proven optima differ, which is a defect: {mismatch}" for mismatch in search.mismatches)
    early = (f"The search ended early: {search.ended_by} Raise it and run again to go on.",)
    notes = runtime.noted((*notes, *search.notes, *differing, *(early if search.ended_by else ())))
    return search.model_copy(update={"notes": notes, "new": new, "run": run})


def _training(
    config: PipelineConfig, runtime: Runtime, design: InstanceSet, count: int
) -> tuple[list[Instance], list[str]]:
    """Return instances for trials, further design instances first, so that F_HF is measured on others; and notes."""
    total = len(design.instances) + count
    wider = runtime.instances(config.instances, "design", total) if count else design
    others = [instance for instance in wider.instances if instance not in design.instances]
    few = (
        f"{count - len(others)} of the {count} training instances of {config.search.algorithm} are design instances "
        "too: there are no others."
    )
    return [*others, *design.instances], [few] if len(others) < count else []
