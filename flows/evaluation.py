"""The third stage: a rule, and other methods it is compared with, on instances nothing was chosen on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.comparing import known_as, statement
from bife_core.evaluation.measuring import unique
from bife_core.methods.base import RPB, Method
from bife_core.methods.configuration import Configuration
from bife_core.methods.loading import BUDGET, load_method, with_budget
from bife_core.registry.choosing import other_settings
from bife_core.registry.evidence import CHAMPION
from bife_core.report import Story
from bife_core.settings import Settings
from bife_core.tuning.ablation import Ablation
from bife_core.wording import counted
from flows.conclusions import evaluation_conclusion
from flows.registration import present_champion, register_rule
from flows.reporting.artifacts import show_conclusion
from flows.reporting.conduct import stage
from flows.results import EvaluationResult, TrackedRun
from tasks.evaluation import (
    evaluate,
    evaluation_folder,
    no_champion_by,
    own_test_instances,
    take_test_instances,
    track_evaluation,
)  # fmt: skip
from tasks.evaluation_files import search_behind
from tasks.registry.reading import registered, sample_name
from tasks.states import with_message
from tasks.stores import noted, observer
from tasks.tracking.store import EVALUATION

# As an extra, since Prefect drops a plain description from the form.
_METHOD = {
    "description": "A file on the worker's machine, a reference rule such as paper_ca, or models:/NAME@ALIAS."
}
RuleReference = Annotated[str, Field(min_length=1, json_schema_extra=_METHOD)]


@stage("evaluation")
def evaluation(
    config: Settings,
    rule: RuleReference,
    as_challenger: bool = False,
    others: tuple[str, ...] = (),
    # Left out of the form on Prefect's page: only another flow has one.
    choice: SkipJsonSchema[Choice | None] = None,
    promoting: bool = False,
    ablation: SkipJsonSchema[Ablation | None] = None,
) -> EvaluationResult:
    """Compare a rule and other methods with the baseline; an evaluation that was interrupted goes on.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `evaluation` and `runner` are read.
    rule : str
        The leading method: a file, the name of a reference rule, ``models:/<name>@<alias>``, ``runs:/<run id>``,
        a JSON file of a scorer, a method of another package, or a built-in of SCIP.
    as_challenger : bool
        Whether the rule is registered as challenger; it is then measured beside the champion.
    others : tuple of str
        Further methods.
    choice : Choice, optional
        How the rule was chosen, for the report.
    promoting : bool
        Whether the caller may promote the rule by it, as a pipeline does; so it is with `as_challenger`.
    ablation : Ablation, optional
        What brought the leading method, for the report.
    """
    settings = config.evaluation
    references = (rule, *others, *(present_champion(config) if as_challenger else ()))
    methods = [_method(reference) for reference in references]
    # MLflow is asked now: one that goes away during the solves must not take their result away.
    known = [(one, registered(one)) for one in references if one.startswith("models:")]
    elsewhere = [
        f"{said}." for one, rule_of in known if (said := other_settings(rule_of, config.solver, one))
    ]
    elsewhere += [
        f"{known_as(one.name)} has no row of its own: it is RPB, for no better parameters were found."
        for one in methods
        if isinstance(one, Configuration) and one.identity == RPB
    ]
    behind = [search_behind(*each) for each in zip(references, methods, strict=True)]
    searches = [record for _, record in behind if record is not None]
    if searches and choice is not None:
        searches[0] = searches[0].model_copy(update={"chosen": choice.sentence})
    # What a pipeline sets beside its rule are no candidates, nor is the champion.
    rules = unique(methods[: 1 if promoting else 1 + len(others)])
    methods = unique(methods)
    promoting = promoting or as_challenger
    if promoting:
        instances = own_test_instances(config.instances, methods[0])
        config = config.model_copy(update={"instances": instances})
    held_out = take_test_instances(config, methods, rules, promoting)
    upto, seeds = "up to " if promoting else "", counted(len(settings.seeds), "seed")
    observer().stage("evaluation", f"{upto}{len(held_out.instances)} held-out instances, {seeds}")
    hopeless = noted(no_champion_by(held_out, config)) if promoting else ()
    beat = [rule_of.sha for _, rule_of in known if CHAMPION in rule_of.aliases] if promoting else None
    summary = evaluate(methods, held_out, config, beat)
    story = Story(searches=tuple(searches), notes=(*held_out.notes, *elsewhere), ablation=ablation)
    run_id = track_evaluation(config, methods, held_out, summary, story, choice)
    differing = (f"Proven optima differ, which is a defect: {mismatch}" for mismatch in summary.mismatches)
    further = (summary.lead.note,) if summary.lead.note else ()
    result = EvaluationResult(
        summary=summary,
        source=methods[0].text,
        sha=methods[0].identity,
        held_out=held_out,
        directory=evaluation_folder(methods, held_out, summary),
        run=TrackedRun.of(EVALUATION, run_id),
        notes=(*hopeless, *noted((*story.notes, *summary.failures, *differing, *further))),
    )
    if as_challenger:
        _, notes = register_rule(config, result, behind[0][0])
        result = result.model_copy(update={"notes": (*result.notes, *notes)})
    show_conclusion(config.instances.label, "evaluation", evaluation_conclusion(result))
    return with_message(result, statement(summary.lead))


def _method(reference: str) -> Method:
    """Return the method a reference names; one of a search is called by its sample."""
    plain, comma, budget = reference.rpartition(BUDGET)
    if comma:
        return with_budget(_method(plain), budget)
    method = load_method(reference)
    return method.model_copy(update={"name": sample_name(reference) or method.name})
