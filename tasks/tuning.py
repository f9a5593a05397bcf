"""Tasks that tune RPB's parameters on the design instances and write that to MLflow."""

from __future__ import annotations

from pathlib import Path

from prefect import task

from bife_core.config import PipelineConfig
from bife_core.files import write_whole
from bife_core.tuning import Tuning, tune_rpb
from bife_core.values import digest_of, flat
from tasks.collection import InstanceSet, solving
from tasks.home import project_home
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import alone_at, observer
from tasks.tracking import store
from tasks.tracking.subscriber import Record, track_record


@task(name="tune RPB", task_run_name="tune RPB for {budget_s:.0f} CPU seconds", **TRIED_AGAIN)
def tune(config: PipelineConfig, design: InstanceSet, budget_s: float) -> Tuning:
    """Tune RPB for so many CPU seconds of solves; those done before are reused."""
    with alone_at(f"tuning {design.content}", f"the tuning of RPB on {design.label}"):
        found = tune_rpb(
            design.instances, solving(config), budget_s, seed=config.high.seed, progress=observer().progress
        )
    return with_message(found, found.sentence)


@task(name="track tuning", task_run_name="write the tuning to MLflow", **TRIED_AGAIN)
def track_tuning(
    config: PipelineConfig, design: InstanceSet, tuning: Tuning, budget_s: float
) -> tuple[Path, str]:
    """Write tuned RPB to disk and MLflow, and return its settings file and the id of its run."""
    method, label = tuning.method, config.instances.label
    settings = config.model_dump(mode="json", include={"instances", "solver", "high"})
    key = digest_of([settings, design.content, budget_s, tuning.model_dump(mode="json")])[:16]
    folder = project_home().runs / f"tuning-{key}"
    write_whole(folder / method.file_name, method.text)
    record = Record(
        experiment=store.TUNING,
        key=key,
        name=f"{label} RPB tuned for {budget_s:.0f} s",
        params=flat(settings) | {"design_instances": design.content, "budget_s": budget_s},
        metrics={"ratio": tuning.best.ratio, "trials": len(tuning.trials), "solver_s": tuning.cpu_s},
        tags={"kind": "tuning", "benchmark": label, "rule_sha": method.identity}
        | {"mlflow.note.content": f"{tuning.sentence}\n\n```\n{method.text}```"},
        tables={"trials_table.json": tuple(trial.model_dump(mode="json") for trial in tuning.trials)},
        files=(method.file_name,),
    )
    return folder / method.file_name, track_record(folder, record)
