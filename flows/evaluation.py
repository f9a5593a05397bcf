"""The third stage: a rule, and whatever it is to be compared with, on instances nothing was chosen on."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from typing import Annotated

from prefect import flow
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bife_core.benchmarks.formulation import likeness_of
from bife_core.config import InstancesConfig, PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.methods.base import Method
from bife_core.methods.loading import load_method
from bife_core.presets import preset
from bife_core.report import Story
from bife_core.wording import counted
from flows.registration import present_champion, refusal_notes, register_rule
from flows.reporting.artifacts import show_verdict
from flows.reporting.observer import noted, observer
from flows.results import EvaluationResult, TrackedRun
from flows.safeguards.conduct import conducted
from flows.safeguards.endings import HOOKS
from flows.verdicts import comparison, evaluation_verdict
from tasks.collection import prepare_instances
from tasks.evaluation import (
    evaluate,
    evaluation_folder,
    setting_name,
    track_evaluation,
)
from tasks.evaluation_files import search_behind
from tasks.registry import origin_of, sample_name
from tasks.states import with_message
from tasks.stores import home_store
from tasks.tracking.store import EVALUATION, TrackingError

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


@flow(name="evaluation", flow_run_name="evaluation {config.instances.label}", **HOOKS)
@conducted
def evaluation(
    config: PipelineConfig,
    rule: RuleReference,
    as_challenger: bool = False,
    others: tuple[str, ...] = (),
    # Left out of the form on Prefect's page: only another flow has one.
    choice: SkipJsonSchema[Choice | None] = None,
    promoting: bool = False,
) -> EvaluationResult:
    """Compare a rule and other methods with the baseline; an evaluation that was interrupted goes on.

    Parameters
    ----------
    config : PipelineConfig
        Its `instances`, `evaluation` and `runner` are read.
    rule : str
        The leading method: a file, the name of a reference rule, ``models:/<name>@<alias>``, ``runs:/<run id>``,
        a JSON file of a scorer, a method another package offers, or a built-in of SCIP.
    as_challenger : bool
        Whether the rule becomes its benchmark's challenger in the registry; it is then measured beside the champion.
    others : tuple of str
        Further methods.
    choice : Choice, optional
        How the rule was chosen, for the report.
    promoting : bool
        Whether whoever asks may promote the rule by it, as a pipeline does; so it is with `as_challenger`.

    Raises
    ------
    BifeError
        If a method or instances cannot be used, or no pair of solves could be finished.
    """
    settings = config.evaluation
    references = (rule, *others, *(present_champion(config) if as_challenger else ()))
    methods = [_method(reference) for reference in references]
    # MLflow is asked now: one that goes away during the solves must not take their result away.
    searches = tuple(filter(None, map(search_behind, references)))
    promoting = promoting or as_challenger
    if promoting:
        config = config.model_copy(update={"instances": own_test_instances(config, methods[0])})
    held_out = prepare_instances(config.instances, "test", settings.instances)
    seeds = counted(len(settings.seeds), "seed")
    observer().stage("evaluation", f"{len(held_out.instances)} held-out instances, {seeds}")
    use = (
        home_store().count_use(held_out.content, evaluation_identity(config, methods[0])) if promoting else 0
    )
    summary = evaluate(methods, held_out, settings, config.runner, setting_name(config.instances), use)
    stated = (settings.solver.sentence,) if settings.solver.sentence else ()
    notes = (*stated, *held_out.notes)
    story = Story(
        commands=(repeat_command(config, references),),
        searches=tuple(
            search.model_copy(
                update={"chosen": choice.sentence if choice is not None and number == 0 else ""}
            )
            for number, search in enumerate(searches)
        ),
        notes=notes,
    )
    run_id = track_evaluation(config.instances, settings, methods, held_out, summary, story, choice)
    differing = (f"Proven optima differ, which is a defect: {mismatch}" for mismatch in summary.mismatches)
    further = (summary.lead.note,) if summary.lead.note else ()
    notes = noted((*notes, *summary.failures, *differing, *further))
    result = EvaluationResult(
        summary=summary,
        source=methods[0].text,
        sha=methods[0].identity,
        test_digest=held_out.content,
        models=likeness_of([one.path for one in held_out.instances]) if promoting else None,
        directory=evaluation_folder(methods, held_out, settings, summary),
        run=TrackedRun.of(EVALUATION, run_id),
        notes=notes,
    )
    if as_challenger:
        try:
            said = refusal_notes(register_rule(config, result, origin_of(rule)))
        except TrackingError as error:
            # What was measured is on disk, and an unreachable registry must not take it away.
            said = noted((f"The rule is not registered yet; the same command registers it. {error}",))
        result = result.model_copy(update={"notes": (*notes, *said)})
    show_verdict(config.instances.label, "evaluation", evaluation_verdict(result))
    return with_message(result, f"{comparison(result)}.")


def _method(reference: str) -> Method:
    """Return the method a reference names, under a name that tells a reader something."""
    method = load_method(reference)
    return method.model_copy(update={"name": sample_name(reference) or method.name})


def evaluation_identity(config: PipelineConfig, rule: Method) -> str:
    """Return a hash of a rule and of how it is measured."""
    facts = [
        rule.identity,
        config.instances.model_dump(mode="json"),
        config.evaluation.model_dump(mode="json"),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def own_test_instances(config: PipelineConfig, rule: Method) -> InstancesConfig:
    """Return the test instances of an evaluation that may promote a rule; no other evaluation has used them.

    A folder has one test set.
    """
    models = config.instances
    if models.folder is not None:
        return models
    return models.model_copy(update={"seed": int(evaluation_identity(config, rule)[:8], 16)})


def repeat_command(config: PipelineConfig, references: Sequence[str]) -> str:
    """Return the command that makes the same evaluation, whatever made this one.

    Examples
    --------
    >>> repeat_command(PipelineConfig(), ["paper_ca", "pscost"])
    'bife evaluate --preset paper --benchmark combinatorial_auction --rule paper_ca --rule pscost'
    """
    words = ["bife", "evaluate", "--preset", "paper"]
    models = config.instances
    if models.folder is not None:
        words += ["--instances", str(models.folder)]
    else:
        words += ["--benchmark", models.benchmark]
        words += ["--size", models.size] if models.size != InstancesConfig().size else []
    for reference in references:
        words += ["--rule", reference]
    if models.seed:
        words += ["--set", f"instances.seed={models.seed}"]
    settings = config.evaluation
    defaults = preset("paper", models.benchmark).evaluation.model_dump(mode="json")
    for name, value in settings.model_dump(mode="json").items():
        if value != defaults[name]:
            text = value if isinstance(value, str) else json.dumps(value)
            words += ["--set", f"evaluation.{name}={text}"]
    if config.runner.workers is not None:
        words += ["--workers", str(config.runner.workers)]
    return shlex.join(words)
