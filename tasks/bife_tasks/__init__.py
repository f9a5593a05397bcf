"""What tracks runs in MLflow, and what Prefect and MLflow have of a home."""

from importlib.util import find_spec
from typing import Final

INSTALLED: Final = all(map(find_spec, ("prefect", "mlflow")))
"""Whether the extra `operate` is installed."""
