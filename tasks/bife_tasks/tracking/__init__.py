"""All that writes to MLflow: a subscriber of the store, which keeps what cost time or money."""

from bife_tasks.home import prepare_environment

prepare_environment()  # MLflow and Prefect read theirs when they are imported
