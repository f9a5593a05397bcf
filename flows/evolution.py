"""The second stage: a search for a rule, one generation after the other."""

from __future__ import annotations

from functools import partial

from pydantic.json_schema import SkipJsonSchema

from bife_core.benchmarks.base import Instance
from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.generators.model_settings import holding_key
from bife_core.search import open_search
from bife_core.settings import Settings, settings_of
from bife_core.study import EvolutionState, Journal, Study, create_study
from bife_core.study.journal import Completed, Drafted, HighScored, Scored, Tried
from bife_core.values import flat
from flows.collection import collection
from flows.conclusions import evolution_conclusion, links
from flows.reporting.artifacts import EvolutionPage, show_conclusion
from flows.reporting.conduct import (
    EVOLUTION_ENDED,
    NEARLY,
    NEARLY_USED,
    NO_RULE,
    announce,
    stage,
    stands_alone,
    tried_again,
)
from flows.resolving import resolved
from flows.results import EvolutionResult, TrackedRun
from tasks.collection import InstanceSet, prepare_instances
from tasks.evolution import model_key, next_generation, require_generator
from tasks.home import project_home
from tasks.states import NOTHING_TO_DO, with_message
from tasks.stores import home_store, mlflow_run, noted, observer
from tasks.tracking.provenance import provenance
from tasks.tracking.store import EVOLUTION, ranking_url, run_url
from tasks.tracking.subscriber import track_evolution
from tasks.workers import worker_pool


@stage("evolution")
def evolution(
    config: Settings,
    # Left out of the form on Prefect's page: only another flow has one to hand over.
    decisions: SkipJsonSchema[CollectionSummary | None] = None,
    beside: SkipJsonSchema[dict[str, float] | None] = None,
) -> EvolutionResult:
    """Search for a rule; run it again with the same settings to go on where it stopped.

    Parameters
    ----------
    config : Settings
        All but its `evaluation` is read.
    decisions : CollectionSummary, optional
        What F_LF is measured on; collected first if it is not given and the search goes by F_LF.
    beside : dict, optional
        F_HF of others, to be shown beside that of rules, by name.
    """
    config = resolved(config)
    require_generator(config)
    search = open_search(config.search)
    if not search.low_fidelity:
        decisions = None
    elif decisions is None:
        decisions = collection(config).summary
    about = f"{config.search.method}, {config.search.samples} samples, {config.origin_of_rules}"
    observer().stage("evolution", about)
    design = prepare_instances(config.instances, "design", config.high.instances)
    training, notes = _training(config, design, search.training_instances)
    study = create_study(
        config,
        design.instances,
        decisions,
        store=home_store(),
        benchmark=config.instances.kind,
        training=training,
        workers=worker_pool(config.runner),
        watcher=observer(),
        note=observer().note,
        runs=project_home().runs,
        label=config.instances.label,
        params=flat({"instances": config.instances.model_dump(mode="json")}),
        provenance=provenance(),
    )
    study.beside = beside or {}
    with holding_key(model_key(config.generator)), study.claim():
        result = _run(study, decisions, (*design.notes, *notes))
    show_conclusion(config.instances.label, "evolution", evolution_conclusion(result))
    # Who runs the same again wishes for no second evaluation; a run that was killed may not have asked for its first.
    if result.new or tried_again():
        subject = f"evolution.{result.key}"
        if result.best is None:
            announce(NO_RULE, subject, {"reason": result.sentence})
        elif result.run.run_id and stands_alone():
            payload = {"rule": f"runs:/{result.run.run_id}", "config": settings_of(config)}
            announce(EVOLUTION_ENDED, subject, payload)
    return with_message(result, result.sentence, None if result.new else NOTHING_TO_DO)


def _run(study: Study, decisions: CollectionSummary | None, notes: tuple[str, ...]) -> EvolutionResult:
    """Run the generations; after each, MLflow and the pages are brought up to date."""
    journal, label, states = study.journal, study.config.instances.label, list[EvolutionState]()
    nearly_used = set[str]()
    track_evolution(journal.key)
    number = mlflow_run(journal.key)
    page = EvolutionPage(label, links(ranking_url(number), run_url(number, EVOLUTION)))
    known = _findings(journal)
    more = partial(study.run, generations=1, callbacks=[lambda _, state: states.append(state)])
    try:
        while True:
            generation = len(journal.of(Completed))
            named = next_generation.with_options(task_run_name=f"generation {generation}")
            found = named.submit(more).result()
            track_evolution(journal.key)
            for state in states[-1:]:
                page.generation(state)
                for limit, used in state.budget_used.items():
                    # The limits may have been raised since an earlier run.
                    if used >= NEARLY and limit not in nearly_used and not state.replayed:
                        nearly_used.add(limit)
                        reason = f"{100 * used:.0f} % of the limit on {limit} is used."
                        announce(NEARLY_USED, f"evolution.{journal.key}", {"reason": reason})
            states.clear()
            if found.ended_by is not None and not nearly_used:  # within a generation
                announce(NEARLY_USED, f"evolution.{journal.key}", {"reason": found.ended_by})
            if study.done or found.ended_by is not None:
                break
    finally:
        track_evolution(journal.key)
        number = mlflow_run(journal.key)
    differing = (f"Proven optima differ, which is a defect: {mismatch}" for mismatch in found.mismatches)
    early = (f"The search ended early: {found.ended_by} Raise it and run again to go on.",)
    notes = noted((*notes, *found.notes, *differing, *(early if found.ended_by else ())))
    return EvolutionResult(
        **dict(found) | {"notes": notes},
        key=journal.folder.name,
        decisions=decisions,
        new=_findings(journal) > known,
        run=TrackedRun.of(EVOLUTION, number),
        ranking_url=ranking_url(number),
    )


def _findings(journal: Journal) -> int:
    """Return how much a search has found out so far."""
    return sum(len(journal.of(kind)) for kind in (Drafted, Scored, Tried, HighScored))


def _training(config: PipelineConfig, design: InstanceSet, count: int) -> tuple[list[Instance], list[str]]:
    """Return instances for trials, further design instances first, so that F_HF is measured on others; and notes."""
    wider = prepare_instances(config.instances, "design", len(design.instances) + count) if count else design
    others = [instance for instance in wider.instances if instance not in design.instances]
    few = (
        f"{count - len(others)} of the {count} training instances of {config.search.method} are design instances too: "
        "there are no others."
    )
    return [*others, *design.instances], [few] if len(others) < count else []
