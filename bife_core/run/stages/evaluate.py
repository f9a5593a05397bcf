"""A rule, and other methods it is compared with, on instances nothing was chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bife_core.base.files import write_whole
from bife_core.base.values import as_params, digest_of
from bife_core.base.wording import counted
from bife_core.instances.config import FAMILIES
from bife_core.measure.evaluation.choice import Choice
from bife_core.measure.evaluation.comparison import known_as
from bife_core.measure.evaluation.protocol import unique
from bife_core.measure.evaluation.summary import EvaluationSummary, evaluate as _evaluate
from bife_core.registry.choosing import other_settings
from bife_core.registry.evidence import CHAMPION
from bife_core.run.config import PipelineConfig
from bife_core.run.observer import TrackedRun
from bife_core.run.show.report import Story
from bife_core.run.stages import evaluation_files
from bife_core.run.stages.conclusions import evaluation_conclusion
from bife_core.run.stages.held_out import no_champion_by, own_test_instances, take_test_instances
from bife_core.run.stages.records import EVALUATION, Record
from bife_core.run.stages.register import present_champion, register_rule
from bife_core.run.stages.results import EvaluationResult
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import BUDGET
from bife_core.store.home import RECORD

_MEASURED: Final = {"ratio", "node_ratio", "wins", "losses", "missing", "proofs", "baseline_proofs"}


def evaluate(
    config: PipelineConfig,
    runtime: Runtime,
    rule: str | Method,
    as_challenger: bool = False,
    others: Sequence[str | Method] = (),
    choice: Choice | None = None,
    promoting: bool = False,
    story: Story | None = None,
    found_by: str = "",
) -> EvaluationResult:
    """Compare a rule and other methods, or what refers to them, with the baseline; what was interrupted goes on.

    With `as_challenger` the rule is measured beside the champion and registered; `promoting` says that the caller may
    promote it. The report says how the rule was chosen, by `choice`, and what brought it, by a `story`. Methods that
    are no references were `found_by` the search of that key.
    """
    settings = config.evaluation
    references = (rule, *others, *(present_champion(config, runtime) if as_challenger else ()))
    methods = [_method(reference, runtime) for reference in references]
    # The registry is asked now: one that goes away during the solves must not take their result away.
    registered = [
        (reference, runtime.registry.registered(reference))
        for reference in references
        if isinstance(reference, str) and reference.startswith("models:")
    ]
    elsewhere = [
        f"{difference}."
        for reference, rule_of in registered
        if (difference := other_settings(rule_of, config.solver, reference))
    ]
    elsewhere += [
        f"{known_as(method.name)} has no row of its own: it is RPB, for no better parameters were found."
        for method in methods
        if isinstance(method, Configuration) and method.identity == RPB
    ]
    pairs = zip(references, methods, strict=True)
    behind = [evaluation_files.search_behind(*pair, runtime, found_by) for pair in pairs]
    by_rule = {(origin.search_key, record.best): record for origin, record in behind if record is not None}
    searches = [*by_rule.values()]
    if searches and choice is not None:
        searches[0] = searches[0].model_copy(update={"chosen": choice.sentence})
    # What a pipeline sets beside its rule are no candidates, nor is the champion.
    rules = unique(methods[: 1 if promoting else 1 + len(others)])
    methods = unique(methods)
    promoting = promoting or as_challenger
    if promoting:
        instances = own_test_instances(config.instances, methods[0])
        config = config.model_copy(update={"instances": instances})
    held_out = take_test_instances(config, runtime, methods, rules, promoting)
    upto, seeds = "up to " if promoting else "", counted(len(settings.seeds), "seed")
    runtime.observer.stage("evaluation", f"{upto}{len(held_out.instances)} held-out instances, {seeds}")
    hopeless = runtime.noted(no_champion_by(held_out, config, runtime)) if promoting else ()
    beat = [rule_of.sha for _, rule_of in registered if CHAMPION in rule_of.aliases] if promoting else None
    summary = measure(config, runtime, methods, held_out, beat)
    behind_it = {"searches": tuple(searches), "notes": (*held_out.notes, *elsewhere)}
    story = (story or Story()).model_copy(update=behind_it)
    origin = behind[0][0]
    run = record_evaluation(config, runtime, methods, held_out, summary, story, choice, origin.search_key)
    differing = (f"Proven optima differ, which is a defect: {mismatch}" for mismatch in summary.mismatches)
    further = (summary.lead.note,) if summary.lead.note else ()
    notes = runtime.noted((*story.notes, *summary.failures, *differing, *summary.cautions, *further))
    result = EvaluationResult(
        summary=summary,
        held_out=held_out,
        directory=folder_of(runtime, methods, held_out, summary),
        run=run,
        origin=origin,
        ablation=story.ablation,
        notes=(*hopeless, *notes),
    )
    if as_challenger:
        _, notes = register_rule(config, runtime, result)
        result = result.model_copy(update={"notes": (*result.notes, *notes)})
    runtime.conductor.conclude(config.instances.label, "evaluation", evaluation_conclusion(result))
    return result


def measure(
    config: PipelineConfig,
    runtime: Runtime,
    methods: Sequence[Method],
    instances: InstanceSet,
    beat: Sequence[str] | None = None,
) -> EvaluationSummary:
    """Solve instances with all methods, or return the record of the same evaluation; stored solves are reused.

    With `beat`, identities of methods, it stops once it is decided whether the first is better than these and the
    baseline. A `SolverError` says that the baseline has no solve at all.
    """
    lead, family = methods[0], FAMILIES.get(config.instances.benchmark)
    # What tables call the instances, such as "CA transfer".
    setting = config.instances.label if family is None else f"{family.label} {config.instances.size}"

    def work() -> EvaluationSummary:
        with runtime.alone(
            f"evaluation {lead.identity} {instances.content}", f"the evaluation of {lead.name}"
        ):
            return _evaluate(
                methods,
                instances.instances,
                config.evaluation,
                runtime.workers(config.runner),
                runtime.store,
                runtime.observer.progress,
                runtime.observer.note,
                setting=setting,
                use=instances.use,
                solver=config.solver,
                beat=beat,
            )

    summary = runtime.conductor.step(
        "evaluate", f"evaluate {lead.name} against {config.evaluation.baseline}", work
    )
    folder = folder_of(runtime, methods, instances, summary)
    return evaluation_files.read_summary(folder) if (folder / RECORD).is_file() else summary


def folder_of(
    runtime: Runtime, methods: Sequence[Method], instances: InstanceSet, summary: EvaluationSummary
) -> Path:
    """Return where the files of an evaluation lie, by its methods, instances, settings, machine and solves."""
    facts = [
        [method.identity for method in methods],
        instances.content,
        summary.protocol.model_dump(mode="json"),
        summary.solver.model_dump(mode="json"),
        summary.machine.digest if summary.machine is not None else "",
        summary.rows,
        summary.use,
        [summary.form(), summary.lead.form()],
    ]
    return runtime.home.runs / f"evaluation-{digest_of(facts)[:16]}"


def record_evaluation(
    config: PipelineConfig,
    runtime: Runtime,
    methods: Sequence[Method],
    instances: InstanceSet,
    summary: EvaluationSummary,
    story: Story,
    choice: Choice | None = None,
    search_key: str = "",
) -> TrackedRun:
    """Write an evaluation with its report to disk, once, record it, and return its run.

    A report that fails takes nothing else away: a note says so, and the next run of the same command tries again.
    """
    lead, comparison, label = methods[0], summary.lead, config.instances.label
    folder = folder_of(runtime, methods, instances, summary)
    if not (folder / RECORD).is_file():
        if choice is not None:
            write_whole(folder / "validation.json", choice.model_dump_json(indent=1))
        evaluation_files.write_evaluation(folder, summary, lead, story)
    if not (folder / evaluation_files.PAGE).is_file():
        try:
            evaluation_files.write_report(folder, evaluation_files.load_report([str(folder)], runtime)[0])
        except Exception as error:  # noqa: BLE001 - whatever a name does to a page, the result is to be registered
            reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            runtime.observer.note(
                f"The report could not be written ({reason}); `bife report {folder}` tries again."
            )
    written = folder / evaluation_files.TABLES[0]
    about = written.read_text(encoding="utf-8") if written.is_file() else summary.conclusion
    tables = {
        "solves_table.json": summary.rows,
        "comparisons_table.json": tuple(comparison.model_dump() for comparison in summary.comparisons),
    }
    steps = story.ablation.steps if story.ablation is not None else ()
    tables |= {"validation_table.json": choice.solves} if choice is not None else {}
    tables |= {"ablation_table.json": tuple(map(dict, steps))} if steps else {}
    settings = config.model_dump(mode="json", include={"instances", "solver", "evaluation"})
    record = Record(
        experiment=EVALUATION,
        key=folder.name.removeprefix("evaluation-"),
        name=f"{label} {summary.rule} vs {summary.baseline}",
        params=as_params(settings)
        | {"rule": summary.rule, "methods": " ".join(summary.methods)}
        | {"test_instances": instances.content},
        metrics={
            **comparison.model_dump(include=_MEASURED),
            "ratio_low": comparison.ci_low,
            "ratio_high": comparison.ci_high,
            "p_value": comparison.p_adjusted,
            "mismatches": len(summary.mismatches),
        },
        tags={
            "kind": "evaluation",
            "benchmark": label,
            "sha": lead.identity,
            "search_key": search_key,
            "metric": comparison.metric,
            "conclusion": comparison.finding,
        },
        note=f"{about}\nThe whole report: {evaluation_files.PAGE}",
        tables=tables,
        files=tuple(sorted(path.name for path in folder.iterdir())),
    )
    return runtime.record(folder.name, record)


def _method(reference: str | Method, runtime: Runtime) -> Method:
    if isinstance(reference, Method):
        return reference
    method = runtime.method(reference)
    if (sample := evaluation_files.sample_name(reference, runtime)) is None:
        return method
    return method.model_copy(update={"name": sample + "".join(method.name.partition(BUDGET)[1:])})
