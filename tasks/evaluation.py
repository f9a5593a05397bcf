"""Tasks that compare methods with a baseline on held-out instances and write the comparison to MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prefect import task

from bife_core.benchmarks.config import FAMILIES
from bife_core.config import InstancesConfig, PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary, evaluate as _evaluate
from bife_core.files import write_whole
from bife_core.methods.base import Method
from bife_core.report import Report, Story, report_markdown
from bife_core.values import digest_of
from tasks import evaluation_files
from tasks.collection import InstanceSet
from tasks.home import project_home
from tasks.states import TRIED_AGAIN
from tasks.stores import alone_at, home_store, note_listener, progress_listener
from tasks.tracking import Record, store, track_record
from tasks.tracking.store import flat
from tasks.workers import worker_pool

_MEASURED: Final = {"ratio", "node_ratio", "wins", "losses", "missing", "proofs", "baseline_proofs"}


def evaluation_folder(methods: Sequence[Method], instances: InstanceSet, summary: EvaluationSummary) -> Path:
    """Return where the files of an evaluation lie, by its methods, instances, settings, machine and solves."""
    facts = [
        list(dict.fromkeys(method.identity for method in methods)),
        instances.content,
        summary.protocol.model_dump(mode="json"),
        summary.solver.model_dump(mode="json"),
        summary.machine.digest if summary.machine is not None else "",
        summary.rows,
        summary.use,
    ]
    return project_home().runs / f"evaluation-{digest_of(facts)[:16]}"


def setting_name(config: InstancesConfig) -> str:
    """Return what tables call the instances of a configuration, such as "CA transfer"."""
    family = FAMILIES.get(config.benchmark)
    return config.label if family is None else f"{family.label} {config.size}"


@task(
    name="evaluate",
    task_run_name="evaluate {methods[0].name} against {config.evaluation.baseline}",
    **TRIED_AGAIN,
)
def evaluate(
    methods: Sequence[Method],
    instances: InstanceSet,
    config: PipelineConfig,
    use: int = 0,
    beat: Sequence[str] | None = None,
) -> EvaluationSummary:
    """Solve instances with all methods; solves that are stored are reused.

    `use` says which use of its test set it is, if it may promote a rule; it is 0 otherwise. With `beat`, identities of
    methods, it stops once it is decided whether the first is better than these and the baseline. Of an evaluation that
    was made before the record of then is returned, with its day and duration. A `SolverError` says that the baseline
    has no solve at all.
    """
    with alone_at(
        f"evaluation {methods[0].identity} {instances.content}", f"the evaluation of {methods[0].name}"
    ):
        summary = _evaluate(
            methods,
            instances.instances,
            config.evaluation,
            worker_pool(config.runner),
            home_store(),
            progress_listener(),
            note_listener(),
            setting=setting_name(config.instances),
            use=use,
            solver=config.solver,
            beat=beat,
        )
    folder = evaluation_folder(methods, instances, summary)
    if (folder / evaluation_files.RECORD).is_file():
        return evaluation_files.read_summary(folder)
    return summary


@task(name="track evaluation", task_run_name="write the evaluation to MLflow", **TRIED_AGAIN)
def track_evaluation(
    config: PipelineConfig,
    methods: Sequence[Method],
    instances: InstanceSet,
    summary: EvaluationSummary,
    story: Story,
    choice: Choice | None = None,
) -> str:
    """Write an evaluation with its report to disk, once, and to MLflow, and return the id of its run.

    The `story` is what the report holds beside the solves: the command, and the search that led to the rule. `choice`
    says how the rule was chosen on validation instances.
    """
    lead, compared, label = methods[0], summary.lead, config.instances.label
    folder = evaluation_folder(methods, instances, summary)
    if not (folder / evaluation_files.RECORD).is_file():
        if choice is not None:
            write_whole(folder / "validation.json", choice.model_dump_json(indent=1))
        evaluation_files.write_evaluation(folder, summary, lead, story)
    tables = {
        "solves_table.json": summary.rows,
        "comparisons_table.json": tuple(comparison.model_dump() for comparison in summary.comparisons),
    }
    settings = config.model_dump(mode="json", include={"instances", "solver", "evaluation"})
    record = Record(
        experiment=store.EVALUATION,
        key=folder.name.removeprefix("evaluation-"),
        name=f"{label} {summary.rule} vs {summary.baseline}",
        params=flat(settings)
        | {"rule": summary.rule, "rule_sha": lead.identity, "methods": " ".join(summary.methods)}
        | {"test_instances": instances.content},
        metrics={
            **compared.model_dump(include=_MEASURED),
            "ratio_low": compared.ci_low,
            "ratio_high": compared.ci_high,
            "p_value": compared.p_adjusted,
            "mismatches": len(summary.mismatches),
        },
        tags={
            "kind": "evaluation",
            "benchmark": label,
            "rule_sha": lead.identity,
            "metric": compared.metric,
            "conclusion": compared.finding,
            "mlflow.note.content": f"{summary.conclusion}\n\n{report_markdown(Report(evaluations=(summary,)))}\n"
            f"The whole report: {evaluation_files.PAGE}",
        },
        tables=tables if choice is None else tables | {"validation_table.json": choice.solves},
        files=tuple(sorted(path.name for path in folder.iterdir())),
    )
    return track_record(folder, record)
