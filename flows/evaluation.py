"""The third stage: a rule against the baseline on instances nothing was chosen on."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from bife_core.config import PipelineConfig
from bife_core.evaluation import EvaluationSummary
from flows.observer import observer
from flows.pages import show_verdict
from flows.registration import register_rule
from flows.results import EvaluationResult, TrackedRun
from flows.verdicts import comparison, evaluation_verdict
from tasks.collection import prepare_instances
from tasks.evaluation import brancher, evaluate, evaluation_directory, evaluation_key, track_evaluation
from tasks.origin import origin_of
from tasks.records import InstanceSet
from tasks.states import in_plain_words, told
from tasks.tracking import EVALUATION, run_url

RuleReference = Annotated[
    str,
    Field(
        min_length=1,
        # As an extra, since Prefect drops a plain description from the form.
        json_schema_extra={
            "description": "A file on the worker's machine, a reference rule such as paper_ca, or models:/NAME@ALIAS."
        },
    ),
]
"""What names a rule, described for the form on Prefect's page."""


@flow(name="evaluation", flow_run_name="evaluation {config.instances.label}")
@in_plain_words
def evaluation(config: PipelineConfig, rule: RuleReference, as_challenger: bool = False) -> EvaluationResult:
    """Compare a rule with the baseline; solves done in an earlier run are reused.

    Parameters
    ----------
    config : PipelineConfig
        Its `instances`, `evaluation` and `workers` are read.
    rule : str
        A file, the name of a reference rule, or ``models:/<name>@<alias>``.
    as_challenger : bool
        Whether the rule becomes its benchmark's challenger in the registry.

    Raises
    ------
    BifeError
        If rule or instances cannot be used, or no pair of solves could be finished.
    """
    settings = config.evaluation
    seeds = "1 seed" if len(settings.seeds) == 1 else f"{len(settings.seeds)} seeds"
    observer().stage("evaluation", f"{settings.instances} held-out instances, {seeds}")
    chosen = brancher(rule)
    instances = InstanceSet.model_validate(prepare_instances(config.instances, "test", settings.instances))
    summary = EvaluationSummary.model_validate(
        evaluate(chosen, instances, settings, config.workers, config.runner)
    )
    run_id = track_evaluation(config.instances, settings, chosen, instances, summary)
    notes = (
        *instances.notes,
        *summary.failures,
        *(f"Proven optima differ, which is a defect: {mismatch}" for mismatch in summary.mismatches),
        *([summary.note] if summary.note else []),
    )
    for note in notes:
        observer().note(note)
    result = EvaluationResult(
        summary=summary,
        source=chosen.source or "",
        sha=chosen.identity,
        test_digest=instances.content,
        directory=evaluation_directory(evaluation_key(chosen, instances, settings, summary)),
        run=TrackedRun(experiment=EVALUATION, run_id=run_id, url=run_url(run_id, EVALUATION)),
        notes=notes,
    )
    if as_challenger:
        register_rule(config, result, origin_of(rule))
    show_verdict(config.instances.label, "evaluation", evaluation_verdict(result))
    return told(result, f"{comparison(result)}.")
