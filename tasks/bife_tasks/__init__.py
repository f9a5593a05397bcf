"""Retryable units of work, and all that knows MLflow.

Importing the package prepares the environment, because Prefect and MLflow read theirs when they are imported.
"""

from bife_tasks.home import prepare_environment

prepare_environment()
