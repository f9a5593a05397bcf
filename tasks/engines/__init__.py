"""Where calls run: this machine's pool, processes apart, a Dask cluster or a Ray cluster, by a setting."""

from tasks.engines.base import Engine
from tasks.engines.pool import EnginePool
from tasks.engines.registry import ENGINES, open_engine

__all__ = ["ENGINES", "Engine", "EnginePool", "open_engine"]
