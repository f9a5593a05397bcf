"""The text of a method that MLflow's registry or one of its runs holds; MLflow is loaded once that is asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bife_core.base.errors import RuleError
from bife_core.base.places import adopt, read_settings_files, sqlite_file
from bife_core.base.wording import first_line
from bife_core.solver.methods.references import LISTED, MODEL_REFERENCE, RUN_FILES, RUN_REFERENCE, AbsentError
from bife_tasks import mlflow_tracks
from bife_tasks.home import mlflow_uri
from bife_tasks.mirror import mirrored


def read_mlflow(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text and the tags of a version in MLflow's registry, or the text of a run's method."""
    model = MODEL_REFERENCE.fullmatch(reference)
    run: Any = RUN_REFERENCE.fullmatch(reference)
    if model is not None and (mirror := _mirrored(model)) is not None:
        return mirror
    with _mlflow(reference) as mlflow:
        if mlflow is None:
            absent = f"There is no run {reference}: MLflow has no database here, or is not the tracker."
            raise AbsentError("" if model else absent)
        client = mlflow.MlflowClient()
        if model is not None:
            name = model["name"]
            version = (
                client.get_model_version_by_alias(name, model["alias"])
                if model["alias"]
                else client.get_model_version(name, model["version"])
            )
            try:
                tags = whole_tags(version, mlflow)
                return text_of(f"models:/{name}/{version.version}", tags, mlflow), tags
            except mlflow.exceptions.MlflowException as error:
                # The store's version of the same name would be another rule.
                raise RuleError(
                    f"MLflow has {reference}, but its files cannot be read ({first_line(error)})."
                ) from error
        held = {entry.path for entry in client.list_artifacts(run["run"])}
        files = [name for name in ((run["file"],) if run["file"] else RUN_FILES) if name in held]
        if not files:
            raise RuleError(f"The run of {reference} holds no rule; give a search or a sample.")
        return str(mlflow.artifacts.load_text(f"runs:/{run['run']}/{files[0]}")), {}


def _mirrored(model: Any) -> tuple[str, dict[str, str]] | None:
    """Return text and tags of a version that can be had without MLflow, or None."""
    with _settings():
        addresses = map(os.environ.get, ("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI"))
        address = next(filter(None, addresses), None) or mlflow_uri()
        database = sqlite_file(address) if mlflow_tracks() else None
        mirror = None if database is None else mirrored(database)
    if mirror is None:
        return None
    version = mirror.find(model["name"], model["alias"] or int(model["version"]))
    return None if version is None else (mirror.texts[version.reference], version.tags)


def text_of(version: str, tags: Mapping[str, str], mlflow: Any) -> str:
    """Return the text of the method that a version of MLflow's, ``models:/NAME/VERSION``, holds."""
    return str(mlflow.artifacts.load_text(f"{version}/artifacts/{tags.get('file', 'rule.py')}"))


def whole_tags(version: Any, mlflow: Any) -> dict[str, str]:
    """Return the tags of a version of MLflow's, with what the file beside its method has that ``evidence`` names."""
    tags = dict(version.tags)
    if file := tags.get("evidence"):  # one that was registered by other means has none
        tags |= json.loads(mlflow.artifacts.load_text(f"models:/{version.name}/{version.version}/{file}"))
    return tags


@contextmanager
def _mlflow(reference: str) -> Iterator[Any]:
    """Yield MLflow, whose errors become a `RuleError`; None where it is not in use or installed or has no database."""
    with _settings():
        database = sqlite_file(os.environ.get("MLFLOW_TRACKING_URI") or mlflow_uri())
        tracks = mlflow_tracks() and (database is None or database.exists() or sys.modules.get("mlflow"))
    if not tracks:  # nor is MLflow, which takes seconds, loaded to say so
        yield None
        return
    try:
        import mlflow
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as error:
        raise RuleError(
            f"{reference} is read by MLflow, which is not installed; run pip install 'bife-branching[operate]'."
        ) from error
    with _settings():
        adopt({"MLFLOW_TRACKING_URI": mlflow_uri(), "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"})
        address = mlflow.get_tracking_uri()
        database = sqlite_file(address)
        try:
            yield mlflow if database is None or database.exists() else None  # MLflow would make one
        except (MlflowException, SQLAlchemyError, OSError) as error:
            if getattr(error, "error_code", "") in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise AbsentError(f"MLflow at {address} holds no {reference}; {LISTED}.") from error
            raise RuleError(
                f"MLflow at {address} cannot be read ({first_line(error)}); check MLFLOW_TRACKING_URI."
            ) from error


@contextmanager
def _settings() -> Iterator[None]:
    """Have the settings of BiFE's home inside alone, and not in all of a user's program."""
    before = dict(os.environ)
    try:
        read_settings_files()
        yield
    finally:
        for key in [key for key, value in os.environ.items() if value != before.get(key)]:
            os.environ.pop(key)
