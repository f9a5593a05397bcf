"""Tasks that compare methods with a baseline on held-out instances and write the comparison to MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from prefect import task

from bife_core.benchmarks.config import FAMILIES
from bife_core.config import EvaluationConfig, InstancesConfig, RunnerConfig
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.evaluation.summary import evaluate as _evaluate
from bife_core.methods.base import Method
from bife_core.report import Story
from bife_core.values import digest_of
from tasks import evaluation_files
from tasks.collection import InstanceSet
from tasks.home import project_home
from tasks.states import TRIED_AGAIN
from tasks.stores import alone_at, home_store, note_listener, progress_listener
from tasks.tracking import Record, store, track_record
from tasks.tracking.store import flat
from tasks.workers import worker_pool

SOLVE_COLUMNS: Final = (
    "instance", "seed", "method", "status", "cpu_s", "nodes", "fair_nodes", "lp_iterations",
    "primal_bound", "gap",
)  # fmt: skip
"""Columns of the table of solves."""


def evaluation_key(
    methods: Sequence[Method],
    instances: InstanceSet,
    config: EvaluationConfig,
    summary: EvaluationSummary,
) -> str:
    """Return the identity of an evaluation, from its methods, instances, settings, machine and missing solves."""
    facts = [
        list(dict.fromkeys(method.identity for method in methods)),
        instances.content,
        config.model_dump(mode="json"),
        summary.machine.digest if summary.machine is not None else "",
        len(summary.failures),
        summary.use,
    ]
    return digest_of(facts)[:16]


def setting_name(config: InstancesConfig) -> str:
    """Return what tables call the instances of a configuration.

    Examples
    --------
    >>> setting_name(InstancesConfig(size="transfer"))
    'CA transfer'
    """
    family = FAMILIES.get(config.benchmark)
    return config.label if family is None else f"{family.label} {config.size}"


@task(name="evaluate", task_run_name="evaluate {methods[0].name} against {config.baseline}", **TRIED_AGAIN)
def evaluate(
    methods: Sequence[Method],
    instances: InstanceSet,
    config: EvaluationConfig,
    runner: RunnerConfig,
    setting: str,
    use: int = 0,
) -> EvaluationSummary:
    """Solve instances, which tables call `setting`, with all methods; solves that are stored are reused.

    Parameters
    ----------
    use : int
        Which use of its test set it is, if it may promote a rule; 0 otherwise.

    Raises
    ------
    SolverError
        If the baseline has no solve at all.
    """
    with alone_at(
        f"evaluation {methods[0].identity} {instances.content}", f"the evaluation of {methods[0].name}"
    ):
        summary = _evaluate(
            methods,
            instances.instances,
            config,
            worker_pool(runner),
            home_store(),
            progress_listener(),
            note_listener(),
            setting=setting,
            use=use,
        )
    directory = evaluation_directory(evaluation_key(methods, instances, config, summary))
    return evaluation_files.as_first_measured(directory, summary)


@task(name="track evaluation", task_run_name="write the evaluation to MLflow", **TRIED_AGAIN)
def track_evaluation(
    instances_config: InstancesConfig,
    config: EvaluationConfig,
    methods: Sequence[Method],
    instances: InstanceSet,
    summary: EvaluationSummary,
    story: Story,
    choice: Choice | None = None,
) -> str:
    """Write an evaluation with its report to disk and to MLflow, and return the id of its run.

    Parameters
    ----------
    story : Story
        What the report holds beside the solves: the command, and the search that led to the rule.
    choice : Choice, optional
        How the rule was chosen on validation instances.
    """
    lead, compared = methods[0], summary.lead
    key = evaluation_key(methods, instances, config, summary)
    directory = evaluation_directory(key)
    files = evaluation_files.write_evaluation(directory, summary, lead, story)
    tables = {
        "solves_table.json": tuple(
            {column: row.get(column) for column in SOLVE_COLUMNS} for row in summary.rows
        ),
        "comparisons_table.json": tuple(comparison.model_dump() for comparison in summary.comparisons),
    }
    if choice is not None:
        evaluation_files.write_validation(directory, choice)
        files.append(directory / evaluation_files.VALIDATION)
        tables["validation_table.json"] = choice.solves
    settings = {
        "instances": instances_config.model_dump(mode="json"),
        "evaluation": config.model_dump(mode="json"),
    }
    record = Record(
        experiment=store.EVALUATION,
        key=key,
        name=f"{instances_config.label} {summary.rule} vs {summary.baseline}",
        params=flat(settings)
        | {"rule": summary.rule, "rule_sha": lead.identity, "methods": " ".join(summary.methods)},
        metrics={
            "ratio": compared.ratio,
            "ratio_low": compared.ci_low,
            "ratio_high": compared.ci_high,
            "node_ratio": compared.node_ratio,
            "p_value": compared.p_adjusted,
            "wins": float(compared.wins),
            "losses": float(compared.losses),
            "missing": float(compared.missing),
            "proofs": float(compared.proofs),
            "baseline_proofs": float(compared.baseline_proofs),
            "mismatches": float(len(summary.mismatches)),
        },
        tags={
            "kind": "evaluation",
            "benchmark": instances_config.label,
            "rule_sha": lead.identity,
            "metric": compared.metric,
            "conclusion": compared.finding,
            "mlflow.note.content": evaluation_files.abstract(summary),
        },
        datasets=(instances.dataset,),
        tables=tables,
        files=tuple(path.name for path in files),
    )
    return track_record(directory, record)


def evaluation_directory(key: str) -> Path:
    """Return where the files of an evaluation lie."""
    return project_home().runs / f"evaluation-{key}"
