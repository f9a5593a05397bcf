"""Tasks that compare a rule with a baseline on held-out instances and write the comparison to MLflow."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from prefect import task

from bife_core.config import EvaluationConfig, InstancesConfig, RunnerConfig
from bife_core.evaluation import EvaluationSummary
from bife_core.evaluation import evaluate as _evaluate
from bife_core.rules import CompiledRule, load_rule
from bife_core.solves import Brancher
from tasks import reports
from tasks.collection import instances_dataset
from tasks.home import project_home
from tasks.locks import alone_at
from tasks.policy import RETRIES, RETRY_DELAYS_S, is_infrastructure
from tasks.progress import note_listener, progress_listener
from tasks.records import InstanceSet
from tasks.tracking import store
from tasks.tracking.stages import flat, track_stage
from tasks.workers import worker_pool

_HERE = RunnerConfig()


def evaluation_key(
    rule: Brancher, instances: InstanceSet, config: EvaluationConfig, summary: EvaluationSummary
) -> str:
    """Return the identity of an evaluation: the same rule, instances and settings give the same.

    One that misses some pairs of solves is another than the one that a later run completes.
    """
    facts = [rule.identity, instances.content, config.model_dump(mode="json"), len(summary.failures)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def brancher(reference: str) -> Brancher:
    """Return the rule a reference names: a file, a reference rule, or ``models:/…``.

    Raises
    ------
    RuleError
        If there is no such rule, or it is not usable.
    """
    rule: CompiledRule = load_rule(reference)
    return Brancher.of(rule)


@task(
    name="evaluate",
    task_run_name="evaluate {rule.name} against {config.baseline}",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=is_infrastructure,
)
def evaluate(
    rule: Brancher,
    instances: InstanceSet,
    config: EvaluationConfig,
    workers: int | None,
    runner: RunnerConfig = _HERE,
) -> dict[str, Any]:
    """Solve the instances with rule and baseline and return an `EvaluationSummary` as JSON.

    Solves done before are reused.

    Raises
    ------
    SolverError
        If no pair of solves could be finished.
    """
    home = project_home()
    lock = home.locks / f"evaluation-{rule.identity}-{instances.content}.lock"
    with alone_at(lock, f"the evaluation of {rule.name}", note_listener()):
        summary = _evaluate(
            rule,
            [reference.instance() for reference in instances.instances],
            config,
            worker_pool(workers, runner),
            home.solves,
            progress_listener(),
            note_listener(),
        )
    return summary.model_dump(mode="json")


@task(
    name="track evaluation",
    task_run_name="write the evaluation to MLflow",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=is_infrastructure,
)
def track_evaluation(
    instances_config: InstancesConfig,
    config: EvaluationConfig,
    rule: Brancher,
    instances: InstanceSet,
    summary: EvaluationSummary,
) -> str:
    """Write an evaluation to disk and to MLflow, and return the id of its run."""
    key = evaluation_key(rule, instances, config, summary)
    directory = evaluation_directory(key)
    directory.mkdir(parents=True, exist_ok=True)
    rule_file = directory / "rule.py"
    rule_file.write_text(rule.source or "", encoding="utf-8")
    files = [rule_file, *reports.write_evaluation(directory, summary.rows, cpu_seconds(summary))]
    settings = {
        "instances": instances_config.model_dump(mode="json"),
        "evaluation": config.model_dump(mode="json"),
    }
    return track_stage(
        store.EVALUATION,
        key,
        f"{instances_config.label} {summary.rule} vs {summary.baseline}",
        params=flat(settings) | {"rule": summary.rule, "rule_sha": rule.identity},
        metrics={
            "ratio": summary.ratio,
            "ci_low": summary.ci_low,
            "ci_high": summary.ci_high,
            "node_ratio": summary.node_ratio,
            "wins": float(summary.wins),
            "losses": float(summary.losses),
            "failures": float(len(summary.failures)),
            "mismatches": float(len(summary.mismatches)),
        },
        tags={
            "kind": "evaluation",
            "benchmark": instances_config.label,
            "rule_sha": rule.identity,
            "verdict": "faster" if summary.faster else "not faster",
        },
        datasets=[instances_dataset(instances)],
        tables={"solves_table.json": [solve_row(row) for row in summary.rows]},
        files=files,
    )


def evaluation_directory(key: str) -> Path:
    """Return where the files of an evaluation lie."""
    return project_home().runs / f"evaluation-{key}"


def cpu_seconds(summary: EvaluationSummary) -> dict[str, dict[str, list[float]]]:
    """Return CPU seconds by method, the rule first, then by instance, one per seed."""
    costs: dict[str, dict[str, list[float]]] = {summary.rule: {}, summary.baseline: {}}
    for row in summary.rows:
        costs[row["brancher"]].setdefault(row["instance"], []).append(max(float(row["cpu_s"]), 1e-6))
    return costs


def solve_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of one solve that a reader looks at first."""
    columns = (
        "instance",
        "seed",
        "brancher",
        "status",
        "cpu_s",
        "nodes",
        "lp_iterations",
        "primal_bound",
        "gap",
    )
    return {column: row.get(column) for column in columns}
