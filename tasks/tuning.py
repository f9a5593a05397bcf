"""Tasks that tune SCIP's settings on the design instances and write that to MLflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from prefect import task

from bife_core.config import PipelineConfig
from bife_core.files import write_whole
from bife_core.methods.base import Method
from bife_core.methods.loading import load_method
from bife_core.tuning.ablation import Ablation, ablate as _ablate
from bife_core.tuning.space import Choices, Space
from bife_core.tuning.tuner import Tuning, tune as _tune
from bife_core.values import digest_of, flat
from tasks.collection import PRECHECKED, InstanceSet, solving
from tasks.home import project_home
from tasks.instances import benchmark
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import alone_at, observer
from tasks.tracking import store
from tasks.tracking.subscriber import Record, track_record

_TRIED_S: Final = 60.0
"""CPU seconds of `try_starts` beside those of SCIP default settings: it is to end within two minutes on two cores."""


@task(name="tune", task_run_name="tune SCIP for {budget_s:.0f} CPU seconds", **TRIED_AGAIN)
def tune(
    config: PipelineConfig,
    design: InstanceSet,
    budget_s: float,
    methods: Mapping[str, Method],
    starts: Sequence[Choices] = (),
) -> Tuning:
    """Tune SCIP's settings and which of `methods` branches; solves done before are reused."""
    own, note = config.tune, observer()

    def show(found: Tuning) -> None:
        note.progress(int(min(found.tuned_s, budget_s)), max(int(budget_s), 1))
        if found.trials[-1].raced.won:
            led = [trial.choices for trial in found.trials if trial.raced.won]
            note.note(found.trials[-1].line(len(found.trials) - 1, led[-2]))

    space = Space(methods, own.groups, (*own.fixed, *config.solver.effective))
    with alone_at(f"tuning {design.content}", f"the tuning of SCIP on {design.label}"):
        found = _tune(
            design.instances,
            solving(config),
            space,
            budget_s,
            starts=starts,
            seed=config.search.seed or 0,
            shown=show,
        )
    return with_message(found, found.sentence)


@task(name="ablate", task_run_name="measure what brought {winner.name}", **TRIED_AGAIN)
def ablate(config: PipelineConfig, design: InstanceSet, winner: Method, choices: Choices) -> Ablation:
    """Measure what each group of a configuration's settings brings; solves done before are reused."""
    own, fixed = config.tune, (*config.tune.fixed, *config.solver.effective)
    with alone_at(f"tuning {design.content}", f"the tuning of SCIP on {design.label}"):
        found = _ablate(winner, choices, design.instances, solving(config), own.ablation * own.seconds, fixed)
    return with_message(found, found.sentence)


def try_starts(config: PipelineConfig, methods: Sequence[str]) -> Tuning:
    """Return what SCIP and the starting configurations take on the first design instances, with `methods` at hand."""
    instances = benchmark(config.instances).instances("design", PRECHECKED)
    space = Space({reference: load_method(reference) for reference in methods}, (), config.solver.effective)
    return _tune(instances, solving(config), space, _TRIED_S, seed=None)


@task(name="track tuning", task_run_name="write the tuning to MLflow", **TRIED_AGAIN)
def track_tuning(config: PipelineConfig, design: InstanceSet, tuning: Tuning, name: str) -> tuple[Path, str]:
    """Write what was tuned to disk and MLflow, and return its file and the id of its run."""
    method, label = tuning.configuration.model_copy(update={"name": name}), config.instances.label
    settings = config.model_dump(mode="json", include={"instances", "solver", "high", "tune"})
    key = digest_of([settings, design.content, name, tuning.model_dump(mode="json")])[:16]
    folder = project_home().runs / f"tuning-{key}"
    file = f"{name}.set" if method.by_scip else method.file_name  # settings are called as their file
    write_whole(folder / file, method.text)
    record = Record(
        experiment=store.TUNING,
        key=key,
        name=f"{label} {name}",
        params=flat(settings) | {"design_instances": design.content},
        metrics={"ratio": tuning.best.raced.ratio, "trials": len(tuning.trials), "solver_s": tuning.cpu_s},
        tags={"kind": "tuning", "benchmark": label, "rule_sha": method.identity}
        | {"mlflow.note.content": f"{tuning.sentence}\n\n```\n{method.text}```"},
        tables={"trials_table.json": tuple(trial.row for trial in tuning.trials)},
        files=(file,),
    )
    return folder / file, track_record(folder, record)
