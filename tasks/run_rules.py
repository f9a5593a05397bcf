"""Rules by the MLflow run they came from: ``runs:/RUN_ID`` is an evolution's best rule, or a sample's own."""

from __future__ import annotations

import re
from typing import Final

import mlflow

from bife_core.errors import RuleError
from bife_core.rules import register_resolver
from tasks.tracking import store

SCHEME: Final = "runs"

_REFERENCE: Final = re.compile(r"runs:/(?P<run>[0-9a-f]{32})(?:/(?P<file>[\w.-]+\.(?:py|json)))?")
_FILES: Final = ("best_rule.py", "rule.py", "method.json")
"""Artifacts that hold a rule or another method: of an evolution, and of a sample or an evaluation."""


def load_run_rule(reference: str) -> str:
    """Return the source of the rule a run holds.

    Parameters
    ----------
    reference : str
        ``runs:/RUN_ID``, or ``runs:/RUN_ID/FILE.py`` for one of several.

    Raises
    ------
    RuleError
        If there is no such run, or it holds no rule.
    TrackingError
        If the store cannot be reached.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise RuleError(
            f"{reference!r} names no rule of a run; expected runs:/RUN_ID or runs:/RUN_ID/FILE.py."
        )
    run_id = match["run"]
    try:
        store.client()
        held = {entry.path for entry in mlflow.artifacts.list_artifacts(run_id=run_id)}
        wanted = (match["file"],) if match["file"] else _FILES
        name = next((file for file in wanted if file in held), None)
        if name is not None:
            return str(mlflow.artifacts.load_text(f"runs:/{run_id}/{name}"))
    except mlflow.exceptions.MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise RuleError(f"MLflow at {store.tracking_uri()} holds no run {run_id}.") from error
        raise store.TrackingError(
            f"MLflow at {store.tracking_uri()} cannot be asked for run {run_id} ({store.first_line(error)})."
        ) from error
    raise RuleError(f"The run {run_id} holds no {' or '.join(wanted)}; give an evolution or a sample.")


def register() -> None:
    """Let `load_rule` understand references to runs in this process."""
    register_resolver(SCHEME, load_run_rule)
