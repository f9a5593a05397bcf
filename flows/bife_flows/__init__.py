"""One flow a stage, order and policy only, and the machinery around them."""

from importlib.util import find_spec
from typing import Final

from bife_tasks.home import prepare_environment

INSTALLED: Final = all(map(find_spec, ("prefect", "mlflow")))
"""Whether the extra `operate` is installed; without it nothing is prepared."""

if INSTALLED:
    prepare_environment()  # Prefect reads it when it is imported
