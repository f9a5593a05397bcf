"""Registration and decisions in MLflow's registry as tasks of a run."""

from __future__ import annotations

from prefect import task

from tasks.registry.mlflow_registry import IN_MLFLOW
from tasks.states import TRIED_AGAIN

register = task(name="register", task_run_name="register a rule as {name}", **TRIED_AGAIN)(IN_MLFLOW.register)
open_case = task(
    name="assess the challenger", task_run_name="assess the challenger of {name}", **TRIED_AGAIN
)(IN_MLFLOW.open_case)
promote = task(name="set the champion", task_run_name="make version {version} of {name} champion")(
    IN_MLFLOW.promote
)
refuse = task(name="refuse the challenger", task_run_name="refuse version {version} of {name}")(
    IN_MLFLOW.refuse
)
roll_back = task(name="roll back the champion", task_run_name="roll {name} back")(IN_MLFLOW.roll_back)
