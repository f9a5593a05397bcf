"""The registry that decides: the tracker's, and before MLflow has a database the one in the home's store."""

from __future__ import annotations

import os
import sys
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
    database = sqlite_file(address)
    if database is not None and not database.exists():
        from bife_core.registry.local import LocalRegistry

        return LocalRegistry(project_home())
    if database is not None and "mlflow" not in sys.modules:
        from bife_tasks.registry.mirrored import MirroredRegistry

        return MirroredRegistry(database)
    from bife_tasks.registry.mlflow_registry import IN_MLFLOW

    return IN_MLFLOW
