"""RPB's solves of a few of somebody's models, before anything is paid for a rule."""

from __future__ import annotations

from typing import Final

from prefect import task

from bife_core.config import PipelineConfig
from bife_core.evaluation.precheck import Precheck, precheck
from bife_core.fidelity.load_correction import measure_reference
from tasks.instances import benchmark
from tasks.policy import TRIED_AGAIN
from tasks.progress import note_listener
from tasks.states import told
from tasks.stores import home_store
from tasks.workers import worker_pool

MODELS: Final = 3
"""Models that are looked at."""


@task(name="look ahead", task_run_name="look at RPB's share in branching", **TRIED_AGAIN)
def look_ahead(config: PipelineConfig) -> Precheck:
    """Return what a rule can save on the first design models.

    The solves are those the search measures its rules by, so that they are paid for once.

    Raises
    ------
    BifeError
        If the models cannot be used, or the machine cannot solve at all.
    """
    instances = benchmark(config.instances).instances("design", min(MODELS, config.high.instances))
    pool, solves = worker_pool(config.runner), home_store()
    reference = measure_reference(instances, config.high, pool, solves, note=note_listener())
    found = precheck(reference.results)
    return told(found, found.sentence)
