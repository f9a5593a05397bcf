"""References to what a registry or MLflow holds, and the text of a method that lies there.

MLflow's registry is asked where MLflow is installed and has a database; elsewhere it is the one in the home's store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bife_core.errors import RuleError
from bife_core.methods.configuration import FILE_NAME
from bife_core.migrations import made_by_newer
from bife_core.places import home, mlflow_uri, sqlite_file, store_address

if TYPE_CHECKING:
    from bife_core.store.registered import StoredVersion

MODEL_REFERENCE: Final = re.compile(
    r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@,]+)|/(?P<version>\d+))(?:,budget=.*)?"
)
RUN_REFERENCE: Final = re.compile(
    r"runs:/(?P<run>[0-9a-f]{32})(?:/(?P<file>[\w.-]+\.(?:py|json|set)))?(?:,budget=.*)?"
)

RUN_FILES: Final = (
    "best_rule.py",
    "rule.py",
    "method.json",
    FILE_NAME,
    "tuned.set",
    "tuned_again.set",
    "tuned_scip.set",
)
"""Artifacts of a run that hold a method: of an evolution, of a sample or an evaluation, and of a tuning."""


def is_stored(reference: str) -> bool:
    """Whether a reference may be one of a registry or a run, by its form."""
    return bool(MODEL_REFERENCE.fullmatch(reference) or RUN_REFERENCE.fullmatch(reference))


def read_stored(reference: str) -> tuple[str, str | None]:
    """Return the text that a reference names, which `is_stored`, and the hash it was registered with, if it was.

    A `RuleError` says if it cannot be read, or is not there.
    """
    model = MODEL_REFERENCE.fullmatch(reference)
    run: Any = RUN_REFERENCE.fullmatch(reference)
    with _mlflow(reference, model) as mlflow:
        if model is not None and mlflow is None:
            stored = _in_store(reference, model)
            return stored.text, stored.tags.get("sha", "")
        if model is not None:
            version = version_of(mlflow.MlflowClient(), model)
            place = (
                f"models:/{model['name']}/{version.version}/artifacts/{version.tags.get('file', 'rule.py')}"
            )
            return str(mlflow.artifacts.load_text(place)), version.tags.get("sha", "")
        held = {entry.path for entry in mlflow.MlflowClient().list_artifacts(run["run"])}
        wanted = [name for name in ((run["file"],) if run["file"] else RUN_FILES) if name in held]
        if not wanted:
            raise RuleError(f"The run of {reference} holds no rule; give an evolution or a sample.")
        return str(mlflow.artifacts.load_text(f"runs:/{run['run']}/{wanted[0]}")), None


def registered_tags(reference: object) -> dict[str, str]:
    """Return what the registry says of the version a reference names; nothing for any other reference."""
    model = MODEL_REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if model is None:
        return {}
    with _mlflow(str(reference), model) as mlflow:
        if mlflow is None:
            return _in_store(str(reference), model).tags
        return dict(version_of(mlflow.MlflowClient(), model).tags)


def version_of(client: Any, model: re.Match[str]) -> Any:
    """Return the version that a match of `MODEL_REFERENCE` names, as MLflow's client has it."""
    if model["alias"]:
        return client.get_model_version_by_alias(model["name"], model["alias"])
    return client.get_model_version(model["name"], model["version"])


def _in_store(reference: str, model: re.Match[str]) -> StoredVersion:
    """Return the version that a match of `MODEL_REFERENCE` names in the home's store."""
    # Only once such a reference is read: these imports take longer than the rest.
    from bife_core.store import DATABASE, Store
    from bife_core.store.registered import stored_version

    where = str(home() / DATABASE)
    if os.environ.get("BIFE_STORE") or Path(where).exists():  # nothing is made by asking
        with closing(Store(store_address())) as store:
            where, found = (
                store.name,
                stored_version(store, model["name"], model["alias"] or int(model["version"])),
            )
        if found is not None:
            return found
    raise RuleError(
        f"The registry in {where} holds no {reference}; `bife rules list` shows the registered rules."
    )


def _has_database(address: str) -> bool:
    file = sqlite_file(address)
    return file is None or file.exists()


@contextmanager
def _mlflow(reference: str, model: re.Match[str] | None) -> Iterator[Any]:
    """Yield MLflow, whose errors become a `RuleError`; or None where it has no database, for the reference of a model.

    `model` is the match of such a reference.
    """
    try:
        # The one import of MLflow in bife_core: attach(model, "models:/...") must work in a user's own program, where
        # the package `tasks` may be theirs. It is imported only once such a reference is read.
        import mlflow
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as error:
        if model is None or _has_database(os.environ.get("MLFLOW_TRACKING_URI") or mlflow_uri()):
            raise RuleError(
                f"{reference} is read by MLflow, which is not installed; run pip install 'bife-branching[operate]'."
            ) from error
        yield None
        return
    with _mlflow_settings():
        address = mlflow.get_tracking_uri()
        missing = f"MLflow at {address} holds no {reference}; `bife rules list` shows the registered rules."
        if not _has_database(address):  # MLflow would make it
            if model is None:
                raise RuleError(missing)
            yield None
            return
        if (database := sqlite_file(address)) is not None and (newer := made_by_newer(database, "mlflow")):
            raise RuleError(newer)
        try:
            yield mlflow
        except (MlflowException, SQLAlchemyError, OSError) as error:
            if getattr(error, "error_code", "") in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise RuleError(missing) from error
            reason = str(error).strip().partition("\n")[0]
            raise RuleError(
                f"MLflow at {address} cannot be read ({reason}); check MLFLOW_TRACKING_URI."
            ) from error


@contextmanager
def _mlflow_settings() -> Iterator[None]:
    """Give MLflow the settings of BiFE's home inside, where the environment has none."""
    from dotenv import dotenv_values  # MLflow brings it

    settings = {"MLFLOW_TRACKING_URI": mlflow_uri(), "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
    for folder in (home(), Path.cwd()):
        settings |= {key: value for key, value in dotenv_values(folder / "mlflow.env").items() if value}
    added = {key: value for key, value in settings.items() if not os.environ.get(key)}
    os.environ.update(added)
    try:
        yield
    finally:
        for key in added:
            os.environ.pop(key, None)
