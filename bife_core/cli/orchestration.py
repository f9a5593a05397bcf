"""Whether commands run flows of Prefect, tracked in MLflow, or the stages themselves; and what that gives them."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bife_core.places import read_settings_files

if TYPE_CHECKING:
    from bife_core.registry.base import Registry
    from bife_core.stages.runtime import Runtime

PLAIN: Final = "BIFE_PLAIN"
"""Environment variable that has commands do without Prefect and MLflow, also where these are."""

_CHECKOUT: Final = Path(__file__).resolve().parents[2]


def orchestrated() -> bool:
    """Whether commands run flows: in a checkout in which Prefect and MLflow are installed, unless `PLAIN` is set."""
    there = (_CHECKOUT / "flows").is_dir() and find_spec("prefect") and find_spec("mlflow")
    return bool(there) and not os.environ.get(PLAIN)


def of_flows(module: str) -> Any:
    """Return a module of the checkout's `flows` or `tasks`."""
    if str(_CHECKOUT) not in sys.path:
        sys.path.insert(0, str(_CHECKOUT))
    return import_module(module)


def prepare() -> None:
    """Read settings files, and give Prefect and MLflow their defaults where they are used."""
    if orchestrated():
        of_flows("tasks")
    else:
        read_settings_files()


def tracked_runtime() -> Runtime:
    """Return a runtime that can ask MLflow, where there is one; it takes seconds to load."""
    from bife_core.stages.runtime import Runtime

    runtime: Runtime = of_flows("tasks.runtime").TrackedRuntime() if orchestrated() else Runtime()
    return runtime


def registry() -> Registry:
    """Return the registry of rules: MLflow's where it has one, else that of the home's store."""
    if orchestrated():
        found: Registry = of_flows("tasks.registry").registry()
        return found
    from bife_core.home import project_home
    from bife_core.registry.local import LocalRegistry

    return LocalRegistry(project_home().store)
