"""All engines; one line more registers another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bife_core.config import RunnerConfig
from tasks.engines.base import Engine
from tasks.engines.dask import DaskEngine
from tasks.engines.processes import ProcessEngine
from tasks.engines.ray import RayEngine

ENGINES: Final[dict[str, Callable[[str | None, int | None], Engine]]] = {
    "process": ProcessEngine,
    "dask": DaskEngine,
    "ray": RayEngine,
}


def open_engine(runner: RunnerConfig) -> Engine:
    """Connect to a cluster, or start what runs here.

    Raises
    ------
    ConfigError
        If a package is missing, or the cluster cannot be reached.
    """
    return ENGINES[runner.kind](runner.address, runner.workers)
