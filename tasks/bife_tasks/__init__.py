"""What tracks runs in MLflow, and what Prefect and MLflow have of a home."""

import os
from importlib.util import find_spec
from typing import Final

TRACKER: Final = "mlflow"
"""The tracker in use unless ``BIFE_TRACKER`` names another."""


def mlflow_tracks() -> bool:
    """Whether MLflow is the tracker in use; else nothing loads or asks it."""
    return (os.environ.get("BIFE_TRACKER") or TRACKER) == TRACKER


INSTALLED: Final = all(map(find_spec, ("prefect", "mlflow") if mlflow_tracks() else ("prefect",)))
"""Whether the extra `operate` is installed; another tracker does without MLflow."""
