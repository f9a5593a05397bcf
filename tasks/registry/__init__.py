"""The registry that decides: MLflow's, and before it has a database the one in the home's store."""

from __future__ import annotations

from bife_core.registry.base import Registry
from bife_core.registry.local import LocalRegistry
from tasks.home import registry_is_empty
from tasks.stores import home_store


def registry() -> Registry:
    """Return the registry that decides; MLflow, which takes seconds, is loaded only where it has one."""
    if registry_is_empty():
        return LocalRegistry(home_store())
    from tasks.registry.mlflow_registry import IN_MLFLOW

    return IN_MLFLOW
