"""RPB with its parameters tuned: what a rule has to beat to be worth having."""

from __future__ import annotations

from bife_core.config import PipelineConfig
from flows.reporting.conduct import stage
from flows.results import TrackedRun, TuningResult
from tasks.collection import prepare_instances
from tasks.states import with_message
from tasks.stores import noted, observer
from tasks.tracking.store import TUNING
from tasks.tuning import track_tuning, tune


@stage("tuning")
def tuning(config: PipelineConfig, seconds: float) -> TuningResult:
    """Tune RPB's parameters on the design instances; tuning that was interrupted goes on.

    Parameters
    ----------
    config : PipelineConfig
        Its `instances`, `solver`, `high` and `runner` are read.
    seconds : float
        CPU seconds that solves may have taken when the last trial begins.
    """
    observer().stage("tuning", f"RPB, {seconds:.0f} CPU seconds of solves")
    design = prepare_instances(config.instances, "design", config.high.instances)
    found = tune.submit(config, design, seconds).result()
    path, run_id = track_tuning(config, design, found, seconds)
    notes = noted((*design.notes, found.sentence))
    result = TuningResult(tuning=found, path=path, run=TrackedRun.of(TUNING, run_id), notes=notes)
    return with_message(result, found.sentence)
