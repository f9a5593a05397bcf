"""The middle floor: retryable, cacheable units of work, and all that knows MLflow.

Importing the package settles the environment, because Prefect and MLflow read theirs when they are imported.
"""

from tasks.home import prepare_environment

prepare_environment()
