"""Whether commands run flows of Prefect, tracked in MLflow, or the stages themselves; and what that gives them."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from bife_core.base.places import read_settings_files

if TYPE_CHECKING:
    from bife_core.registry.base import Registry
    from bife_core.run.stages.runtime import Runtime

PLAIN: Final = "BIFE_PLAIN"
"""Environment variable that has commands do without Prefect and MLflow, also where these are."""


def orchestrated() -> bool:
    """Whether commands run flows: where the extra `operate` is installed, unless `PLAIN` is set."""
    return not os.environ.get(PLAIN) and all(map(find_spec, ("prefect", "mlflow")))


def of_flows(module: str) -> Any:
    """Return a module of `bife_flows` or `bife_tasks`."""
    return import_module(module)


def prepare() -> None:
    """Read settings files, and give Prefect and MLflow their defaults where they are used."""
    if orchestrated():
        of_flows("bife_tasks")
    else:
        read_settings_files()


def tracked_runtime() -> Runtime:
    """Return a runtime that can ask MLflow, where there is one; it takes seconds to load."""
    from bife_core.run.stages.runtime import Runtime

    runtime: Runtime = of_flows("bife_tasks.runtime").TrackedRuntime() if orchestrated() else Runtime()
    return runtime


def registry() -> Registry:
    """Return the registry of rules: MLflow's where it has one, else that of the home's store."""
    if orchestrated():
        found: Registry = of_flows("bife_tasks.registry").registry()
        return found
    from bife_core.registry.local import LocalRegistry
    from bife_core.store.home import project_home

    return LocalRegistry(project_home().store)
