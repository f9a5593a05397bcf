"""The worker processes all tasks of this process share."""

from __future__ import annotations

import atexit
import threading

from bife_core.config import RunnerConfig
from bife_core.sandbox import WorkerPool, Workers
from tasks.cluster import DaskPool

_lock = threading.Lock()
_pools: dict[RunnerConfig, Workers] = {}
_HERE = RunnerConfig()


def worker_pool(runner: RunnerConfig = _HERE) -> Workers:
    """Return the pool of a runner, opened on first use and closed when the process ends.

    One pool for all tasks, and one slot per core for all programs of a user on this machine, keep solves apart: never
    more than one on a core, whichever tasks and runs ask for them.

    Parameters
    ----------
    runner : RunnerConfig
        Where its workers are, and how many. A cluster that runs already has its own number.

    Raises
    ------
    ConfigError
        If Dask is missing, or its scheduler cannot be reached.
    """
    with _lock:
        if runner not in _pools:
            _pools[runner] = WorkerPool(runner.workers) if runner.kind == "local" else DaskPool(runner)
        return _pools[runner]


def close_workers() -> None:
    """Stop all workers at once; a later task opens new ones."""
    with _lock:
        while _pools:
            _pools.popitem()[1].close()


atexit.register(close_workers)
