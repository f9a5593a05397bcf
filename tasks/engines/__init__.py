"""Where calls run: this machine's pool, processes apart, a Dask cluster or a Ray cluster, by a setting."""

from tasks.engines.base import Engine
from tasks.engines.opening import ENGINES, open_engine
from tasks.engines.pool import EnginePool

__all__ = ["ENGINES", "Engine", "EnginePool", "open_engine"]
