"""All stages in order: decisions, a search, the choice of its final rule, its evaluation, its registration."""

from __future__ import annotations

import json
from typing import Final

from prefect import flow

from bife_core.config import PipelineConfig, RunnerConfig
from bife_core.evaluation.metrics import Precheck
from bife_core.files import write_whole
from bife_core.search import Sample, open_search
from flows.anew import settled
from flows.collection import collection
from flows.evaluation import evaluation
from flows.evolution import evolution
from flows.registration import no_champion, present_champion, refusal_notes, register_rule
from flows.reporting.artifacts import show_verdict
from flows.reporting.events import present_run, tried_again
from flows.reporting.observer import noted, observer
from flows.results import EvaluationResult, EvolutionResult, PipelineResult
from flows.safeguards.conduct import conducted
from flows.safeguards.endings import HOOKS
from flows.validation import choose_final
from flows.verdicts import comparison, pipeline_verdict
from tasks.collection import precheck
from tasks.evolution import require_generator
from tasks.registry import Origin, RegisteredRule
from tasks.states import NOTHING_TO_DO, with_message
from tasks.tracking.store import TrackingError
from tasks.tracking.writer import lineage

_DONE: Final = "pipeline.json"
"""File of an evolution's folder that says as what its rule was registered, by the settings that led there."""


@flow(name="pipeline", flow_run_name="pipeline {config.instances.label}", **HOOKS)
@conducted
def pipeline(config: PipelineConfig) -> PipelineResult:
    """Discover a rule for a benchmark and register it; run it again to go on where it stopped.

    Parameters
    ----------
    config : PipelineConfig
        All stages' settings; `bife_core.presets.preset` makes some.

    Raises
    ------
    BifeError
        If instances cannot be used, no decision could be recorded, or the model API refuses all requests.
    """
    config = settled(config)
    require_generator(config)
    expected = _precheck(config)
    ahead = noted((expected.sentence,)) if expected is not None else ()
    collected = collection(config) if open_search(config.search).low_fidelity else None
    evolved = evolution(config, collected.summary if collected is not None else None)
    notes = (*ahead, *(collected.notes if collected is not None else ()), *evolved.notes)
    if evolved.best is None:
        return with_message(
            PipelineResult(collection=collected, evolution=evolved, notes=notes), evolved.sentence
        )
    done = _done_before(config, evolved)
    if done is not None:
        nothing = PipelineResult(collection=collected, evolution=evolved, notes=notes)
        return with_message(nothing, f"{evolved.sentence} {done}", NOTHING_TO_DO)
    final, path, choice = choose_final(config, evolved)
    evaluated = evaluation(config, str(path), others=present_champion(config), choice=choice, promoting=True)
    notes = (*notes, *evaluated.notes)
    registered: RegisteredRule | None = None
    standing = ""
    try:
        registered = _register(config, evolved, final, evaluated)
        notes = (*notes, *refusal_notes(registered))
        standing = no_champion(config, registered, expected)
    except TrackingError as error:
        # All that was measured is on disk, so an unreachable registry must not take the result away.
        notes = (*notes, f"The rule is not registered yet; the same command registers it. {error}")
        observer().note(notes[-1])
    result = PipelineResult(
        collection=collected,
        evolution=evolved,
        final=final,
        choice=choice,
        evaluation=evaluated,
        registered=registered,
        no_champion=standing,
        notes=tuple(dict.fromkeys(notes)),  # several stages read the same folder
    )
    if registered is not None:
        write_whole(evolved.folder / _DONE, json.dumps({_settings(config): registered.reference}))
    show_verdict(config.instances.label, "pipeline", pipeline_verdict(result))
    return with_message(result, f"{comparison(evaluated)}. {standing}".strip())


def _precheck(config: PipelineConfig) -> Precheck | None:
    """Return what a rule can save on a user's own instances."""
    if config.instances.folder is None:
        return None
    observer().stage("precheck", "what branching costs RPB")
    return precheck.submit(config).result()


def _done_before(config: PipelineConfig, evolved: EvolutionResult) -> str | None:
    """Return what became of the same pipeline before if nothing is left to do for it; None if there is.

    Who asks from a terminal is shown the comparison once more, which solves nothing anew.
    """
    run = present_run()
    if evolved.new or tried_again() or run is None or run.deployment_id is None:
        return None
    try:
        reference = json.loads((evolved.folder / _DONE).read_text(encoding="utf-8"))[_settings(config)]
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return f"Its rule was evaluated and registered as {reference}."


def _settings(config: PipelineConfig) -> str:
    """Return a hash of all settings that change what a pipeline finds."""
    return config.model_copy(update={"runner": RunnerConfig()}).fingerprint()


def _register(
    config: PipelineConfig, evolved: EvolutionResult, final: Sample, evaluated: EvaluationResult
) -> RegisteredRule:
    if not (evolved.run.run_id and evaluated.run.run_id):
        raise TrackingError("A registered rule points to its runs in MLflow, which does not have them yet.")
    origin = Origin(
        evolution_key=evolved.key,
        evolution_run=evolved.run.run_id,
        f_lf=final.f_lf,
        f_hf=final.f_hf,
        cost=config.high.cost,
        decisions_digest=evolved.decisions.digest if evolved.decisions is not None else "",
        lineage=lineage(final),
    )
    return register_rule(config, evaluated, origin)
