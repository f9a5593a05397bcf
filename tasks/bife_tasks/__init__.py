"""Retryable units of work, and all that knows MLflow.

Importing the package prepares the environment, because Prefect and MLflow read theirs when they are imported.
"""

from importlib.util import find_spec
from typing import Final

from bife_tasks.home import prepare_environment

INSTALLED: Final = all(map(find_spec, ("prefect", "mlflow")))
"""Whether the extra `operate` is installed; without it nothing is prepared."""

if INSTALLED:
    prepare_environment()
