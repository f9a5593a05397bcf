"""All stages in order: decisions, a search for a rule, its evaluation, its registration."""

from __future__ import annotations

from prefect import flow

from bife_core.config import PipelineConfig
from flows.collection import collection
from flows.evaluation import evaluation
from flows.evolution import evolution
from flows.observer import observer
from flows.pages import show_verdict
from flows.results import EvaluationResult, EvolutionResult, PipelineResult
from flows.verdicts import comparison, pipeline_verdict
from tasks.promotion import register
from tasks.registry import FEWEST_INSTANCES, Evidence, RegisteredRule
from tasks.states import in_plain_words, told


@flow(name="pipeline", flow_run_name="pipeline {config.instances.label}")
@in_plain_words
def pipeline(config: PipelineConfig) -> PipelineResult:
    """Discover a rule for a benchmark and register it; run it again to go on where it stopped.

    Parameters
    ----------
    config : PipelineConfig
        All stages' settings; `bife_core.config.preset` makes some.

    Raises
    ------
    BifeError
        If instances cannot be used, no decision could be recorded, or the model API refuses all requests.
    """
    collected = collection(config)
    evolved = evolution(config, collected.summary)
    notes = (*collected.notes, *evolved.notes)
    if evolved.best is None:
        found_none = PipelineResult(collection=collected, evolution=evolved, notes=_once(notes))
        return told(found_none, evolved.sentence)
    evaluated = evaluation(config, str(evolved.best_rule))
    observer().stage("registration", "the best rule")
    registered = RegisteredRule.model_validate(
        register(config.instances, evaluated.source, _evidence(config, evolved, evaluated), _lineage(evolved))
    )
    notes = (*notes, *evaluated.notes)
    if evaluated.summary.faster and evaluated.summary.instances < FEWEST_INSTANCES:
        notes = (*notes, f"A champion needs at least {FEWEST_INSTANCES} held-out instances to be chosen on.")
    result = PipelineResult(
        collection=collected,
        evolution=evolved,
        evaluation=evaluated,
        registered=registered,
        notes=_once(notes),
    )
    show_verdict(config.instances.label, "pipeline", pipeline_verdict(result))
    return told(result, f"{comparison(evaluated)}.")


def _evidence(config: PipelineConfig, evolved: EvolutionResult, evaluated: EvaluationResult) -> Evidence:
    best, summary = evolved.best, evaluated.summary
    return Evidence(
        sha=evaluated.sha,
        benchmark=config.instances.label,
        size=config.instances.size,
        f_lf=best.f_lf if best else None,
        f_hf=best.f_hf if best else None,
        cost=config.high.cost,
        ratio=summary.ratio,
        ci_low=summary.ci_low,
        ci_high=summary.ci_high,
        confidence=summary.confidence,
        baseline=summary.baseline,
        instances=summary.instances,
        seeds=len(summary.seeds),
        mismatches=len(summary.mismatches),
        evolution_key=evolved.key,
        evolution_run=evolved.run.run_id,
        evaluation_run=evaluated.run.run_id,
        decisions_digest=evolved.decisions.digest,
        test_digest=evaluated.test_digest,
    )


def _lineage(evolved: EvolutionResult) -> str:
    best = evolved.best
    if best is None:
        return ""
    parents = f" from {', '.join(best.parents)}" if best.parents else ""
    return f"{best.id} by {best.operator}{parents}"


def _once(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Drop repetitions: several stages read the same folder."""
    return tuple(dict.fromkeys(notes))
