"""All stages in order: expert samples, a search, its final rule, RPB tuned as long, their evaluation, registration."""

from __future__ import annotations

from pathlib import Path

from bife_core.config import PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.comparing import statement
from bife_core.methods.base import Method
from bife_core.methods.loading import budgeted, method_of
from bife_core.search import Sample, open_search
from bife_core.settings import Settings
from bife_core.study.archive import descent
from bife_core.study.files import keep_rule
from flows.collection import collection
from flows.conclusions import pipeline_conclusion
from flows.evaluation import evaluation
from flows.evolution import evolution
from flows.registration import no_champion, present_champion, register_rule
from flows.reporting.artifacts import show_conclusion
from flows.reporting.conduct import NO_RULE, announce, stage, tried_again
from flows.resolving import resolved
from flows.results import EvolutionResult, PipelineResult
from flows.tuning import tuning
from tasks.collection import precheck, prepare_instances
from tasks.evaluation import no_champion_by, unseen_instances
from tasks.evolution import finalists, require_generator, validate
from tasks.registry.evidence import Origin
from tasks.states import with_message
from tasks.stores import noted, observer


@stage("pipeline")
def pipeline(config: Settings) -> PipelineResult:
    """Discover a rule for a benchmark and register it; run it again to go on where it stopped.

    Parameters
    ----------
    config : Settings
        All stages' settings; `bife_core.presets.preset` makes some.
    """
    config = resolved(config)
    require_generator(config)
    notes: tuple[str, ...] = ()
    if config.instances.folder is not None:
        observer().stage("precheck", "what branching costs RPB")
        hopeless = no_champion_by(unseen_instances(config), config)
        notes = noted((*hopeless, precheck.submit(config).result().sentence))
    collected = collection(config) if open_search(config.search).low_fidelity else None
    evolved = evolution(config, collected.summary if collected is not None else None)
    notes = (*notes, *(collected.notes if collected is not None else ()), *evolved.notes)
    if evolved.best is None:
        result = PipelineResult(collection=collected, evolution=evolved, notes=notes)
        return with_message(result, evolved.sentence)
    final, path, choice = _choose_final(config, evolved, evolved.best)
    others, tuned = present_champion(config), None
    if share := config.evaluation.tuned_rpb:
        tuned = tuning(config, share * evolved.cost.solver_s)
        others, notes = (str(tuned.path), *others), (*notes, *tuned.notes)
    evaluated = evaluation(config, str(path), others=others, choice=choice, promoting=True)
    origin = Origin(
        evolution_key=evolved.key,
        evolution_run=evolved.run.run_id,
        f_lf=final.f_lf,
        f_hf=final.f_hf,
        cost=config.high.cost,
        decisions_digest=evolved.decisions.digest if evolved.decisions is not None else "",
        lineage=descent(final, evolved.samples),
    )
    registered, further = register_rule(config, evaluated, origin)
    outcome = statement(evaluated.summary.lead)
    standing = no_champion(registered) if registered is not None else ""
    result = PipelineResult(
        collection=collected,
        evolution=evolved,
        final=final,
        choice=choice,
        tuned=tuned,
        evaluation=evaluated,
        registered=registered,
        no_champion=standing,
        notes=tuple(dict.fromkeys((*notes, *evaluated.notes, *further))),  # stages share instances
    )
    show_conclusion(config.instances.label, "pipeline", pipeline_conclusion(result))
    if evaluated.summary.judged.finding != "better" and (evolved.new or tried_again()):
        announce(NO_RULE, f"evolution.{evolved.key}", {"reason": outcome})
    return with_message(result, f"{outcome} {standing}".strip())


def _choose_final(
    config: PipelineConfig, evolved: EvolutionResult, best: Sample
) -> tuple[Sample, Path, Choice | None]:
    """Return the final rule of a search, the file of its method, and how it was chosen.

    The best rule is also tried with budgets, so that the file may hold a rule with one. A search that measured no F_HF
    has nothing to choose among, nor has one of a single rule without budgets: its best rule is the final one and there
    is no `Choice`. The same holds where the validation instances are those of the design.
    """
    few = finalists(evolved.samples, config.validation.finalists) if best.f_hf is not None else (best,)
    methods: list[tuple[Sample, Method]] = [
        (sample, method_of(sample.source or "", sample.id)) for sample in few
    ]
    (sample, method), choice = methods[0], None
    if best.f_hf is not None:
        methods += [(sample, one) for one in budgeted(method, config.validation.budgets)]
    if len(methods) > 1:
        instances = prepare_instances(config.instances, "validation", config.validation.instances)
        design = prepare_instances(config.instances, "design", config.high.instances)
        others = {one.digest for one in instances.instances} - {one.digest for one in design.instances}
        if others:
            about = f"{len(methods)} rules on {len(instances.instances)} instances of their own"
            observer().stage("validation", about)
            choice = validate([one for _, one in methods], instances, config)
            sample, method = next(both for both in methods if both[1].name == choice.chosen)
    # Reports call a plain rule by the name of its file, which others say themselves.
    return sample, keep_rule(evolved.folder, method), choice
