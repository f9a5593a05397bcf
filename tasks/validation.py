"""The task that chooses a search's final rule on validation instances."""

from __future__ import annotations

from collections.abc import Sequence

from prefect import task

from bife_core.config import HighFidelityConfig, RunnerConfig
from bife_core.evaluation.choosing import Choice, choose
from bife_core.evaluation.measuring import Setting
from bife_core.methods.rule import RuleMethod
from bife_core.search import Sample
from bife_core.study.files import ranked
from tasks.instances import InstanceSet
from tasks.policy import TRIED_AGAIN
from tasks.progress import note_listener, progress_listener
from tasks.stores import home_store
from tasks.workers import worker_pool


def finalists(samples: Sequence[Sample], count: int) -> tuple[Sample, ...]:
    """Return the rules with the best F_HF, best first, each rule once however often it was written."""
    distinct: dict[str | None, Sample] = {}
    for sample in ranked(samples):
        if sample.failure is None and sample.f_hf is not None and sample.source:
            distinct.setdefault(sample.sha, sample)
    return tuple(distinct.values())[:count]


@task(name="validate", task_run_name="choose the final rule", **TRIED_AGAIN)
def validate(
    samples: dict[str, str],
    instances: InstanceSet,
    high: HighFidelityConfig,
    runner: RunnerConfig,
) -> Choice:
    """Solve validation instances with each sample, and choose.

    Parameters
    ----------
    samples : dict
        Source by id, best F_HF first.

    Raises
    ------
    SolverError
        If every sample failed on some instance.
    """
    rules = [RuleMethod(name=name, source=source) for name, source in samples.items()]
    return choose(
        rules,
        Setting("validation", instances.instances),
        high,
        worker_pool(runner),
        home_store(),
        progress_listener(),
        note_listener(),
    )
