"""Where calls run: this machine's pool, processes apart, a Dask cluster or a Ray cluster, by a setting."""

from collections.abc import Callable
from typing import Final

from bife_core.config import RunnerConfig
from tasks.engines.base import Engine
from tasks.engines.dask import DaskEngine
from tasks.engines.pool import EnginePool
from tasks.engines.processes import ProcessEngine
from tasks.engines.ray import RayEngine

__all__ = ["ENGINES", "Engine", "EnginePool", "open_engine"]

ENGINES: Final[dict[str, Callable[[str | None, int | None], Engine]]] = {
    "process": ProcessEngine,
    "dask": DaskEngine,
    "ray": RayEngine,
}
"""All engines; one line more registers another."""


def open_engine(runner: RunnerConfig) -> Engine:
    """Connect to a cluster, or start what runs here.

    Raises
    ------
    ConfigError
        If a package is missing, or the cluster cannot be reached.
    """
    return ENGINES[runner.kind](runner.address, runner.workers)
