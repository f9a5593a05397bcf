"""The registry that decides: the tracker's, and before MLflow has a database the one in the home's store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bife_core.base.places import sqlite_file
from bife_core.store.home import project_home
from bife_tasks import mlflow_tracks
from bife_tasks.home import prepare_environment

if TYPE_CHECKING:
    from bife_core.registry.base import Registry

prepare_environment()  # which MLflow reads when it is imported


def registry() -> Registry:
    """Return the registry that decides; MLflow, which takes seconds, is loaded only where it has one."""
    if not mlflow_tracks():
        from bife_tasks.stores import tracker

        return tracker().registry
    address = os.environ.get("MLFLOW_REGISTRY_URI") or os.environ["MLFLOW_TRACKING_URI"]
    if (database := sqlite_file(address)) is not None:
        from bife_core.registry.local import LocalRegistry
        from bife_tasks.registry.mirrored import MirroredRegistry

        return MirroredRegistry(database) if database.exists() else LocalRegistry(project_home().store)
    from bife_tasks.registry.mlflow_registry import IN_MLFLOW

    return IN_MLFLOW
