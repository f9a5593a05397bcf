"""The worker processes all tasks of this process share."""

from __future__ import annotations

import atexit
import threading

from bife_core.sandbox import CoreSlots, WorkerPool
from tasks.home import project_home

_lock = threading.Lock()
_pools: dict[int | None, WorkerPool] = {}


def worker_pool(workers: int | None = None) -> WorkerPool:
    """Return the pool of that many workers, opened on first use and closed when the process ends.

    One pool for all tasks, and one slot per core for all processes that share a home, keep solves apart: never
    more than one on a core, whichever tasks and runs ask for them.

    Parameters
    ----------
    workers : int or None
        Processes; None takes one per usable core.
    """
    with _lock:
        if workers not in _pools:
            _pools[workers] = WorkerPool(workers, slots=CoreSlots(project_home().locks))
        return _pools[workers]


def close_workers() -> None:
    """Stop all workers at once; a later task opens new ones."""
    with _lock:
        while _pools:
            _pools.popitem()[1].close()


atexit.register(close_workers)
