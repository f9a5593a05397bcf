"""The stages as flows: each of its parts is a task that Prefect tries again, and all that is found is in MLflow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bife_core.decisions.collecting import CollectionSummary
from bife_core.evaluation.choosing import Choice
from bife_core.methods.base import Method
from bife_core.settings import Settings
from bife_core.stages import (
    collecting,
    evaluating,
    pipeline as whole,
    searching,
    tuning as settings,
    watching,
)
from bife_core.stages.results import (
    CollectionResult,
    EvaluationResult,
    EvolutionResult,
    PipelineResult,
    TuningResult,
)
from bife_core.tuning.ablation import Ablation
from bife_core.tuning.space import Choices
from flows.reporting.conduct import FlowRuntime, stage

# As an extra, since Prefect drops a plain description from the form.
_METHOD = {
    "description": "A file on the worker's machine, a reference rule such as paper_ca, or models:/NAME@ALIAS."
}
RuleReference = Annotated[str, Field(min_length=1, json_schema_extra=_METHOD)]

# Parameters that are left out of the form on Prefect's page: only another flow has them to hand over.


@stage("collection", of=collecting.collect)
def collection(config: Settings) -> CollectionResult:
    """Record expert samples of a benchmark; instances done in an earlier run are not solved again.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `collection` and `runner` are read.
    """
    return collecting.collect(config, FlowRuntime())


@stage("tuning", of=settings.tune)
def tuning(
    config: Settings,
    seconds: float,
    methods: tuple[str, ...] = settings.AT_HAND,
    name: str = "tuned",
    found: SkipJsonSchema[Method | None] = None,
    starts: SkipJsonSchema[tuple[Choices, ...]] = (),
) -> TuningResult:
    """Tune SCIP's settings on the design instances; tuning that was interrupted goes on.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `tune`, `high` and `runner` are read.
    seconds : float
        CPU seconds that solves may have taken when the last trial begins, those of SCIP default settings left out.
    methods : tuple of str
        References to what may branch beside RPB.
    name : str
        What the configuration is called.
    found : Method, optional
        A rule that a search found, which may branch too.
    starts : tuple of dict
        Choices to begin with.
    """
    return settings.tune(config, FlowRuntime(), seconds, methods, name, found, starts)


@stage("evolution", of=searching.search)
def evolution(
    config: Settings,
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
    return searching.search(config, FlowRuntime(), decisions, beside)


@stage("evaluation", of=evaluating.evaluate)
def evaluation(
    config: Settings,
    rule: RuleReference,
    as_challenger: bool = False,
    others: tuple[str, ...] = (),
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
    return evaluating.evaluate(
        config, FlowRuntime(), rule, as_challenger, others, choice, promoting, ablation
    )


@stage("pipeline", of=whole.run)
def pipeline(config: Settings) -> PipelineResult:
    """Discover settings and a rule for a benchmark and register them; run it again to go on where it stopped.

    Parameters
    ----------
    config : Settings
        All stages' settings; `bife_core.presets.preset` makes some.
    """
    return whole.run(config, FlowRuntime())


@stage("watch", of=watching.watch)
def watch(config: Settings) -> watching.Watched:
    """Compare the champion with RPB on instances that served nothing yet, and propose its demotion if it is slower.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `evaluation` and `runner` are read; `evaluation.instances` are solved at most.
    """
    return watching.watch(config, FlowRuntime())
