"""All stages in order: expert samples, a search, its final rule, RPB tuned as long, their evaluation, registration."""

from __future__ import annotations

from prefect import flow

from bife_core.search import open_search
from bife_core.settings import Settings
from bife_core.study.archive import descent
from flows.collection import collection
from flows.conclusions import comparison, pipeline_conclusion
from flows.evaluation import evaluation
from flows.evolution import evolution
from flows.registration import no_champion, present_champion, register_rule
from flows.reporting.artifacts import show_conclusion
from flows.reporting.conduct import HOOKS, NO_RULE, announce, conducted, tried_again
from flows.resolving import resolved
from flows.results import PipelineResult
from flows.tuning import tuning
from flows.validation import choose_final
from tasks.collection import precheck
from tasks.evaluation import no_champion_by, unseen_instances
from tasks.evolution import require_generator
from tasks.registry.evidence import Origin
from tasks.states import with_message
from tasks.stores import noted, observer


@flow(name="pipeline", flow_run_name="pipeline {config.instances.label}", **HOOKS)
@conducted
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
    result = PipelineResult(collection=collected, evolution=evolved, notes=notes)
    if evolved.best is None:
        return with_message(result, evolved.sentence)
    final, path, choice = choose_final(config, evolved, evolved.best)
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
    standing = no_champion(registered) if registered is not None else ""
    result = result.model_copy(
        update={
            "final": final,
            "choice": choice,
            "tuned": tuned,
            "evaluation": evaluated,
            "registered": registered,
            "no_champion": standing,
            "notes": tuple(dict.fromkeys((*notes, *evaluated.notes, *further))),  # stages share instances
        }
    )
    show_conclusion(config.instances.label, "pipeline", pipeline_conclusion(result))
    if evaluated.summary.judged.finding != "better" and (evolved.new or tried_again()):
        announce(NO_RULE, f"evolution.{evolved.key}", {"reason": comparison(evaluated)})
    return with_message(result, f"{comparison(evaluated)}. {standing}".strip())
