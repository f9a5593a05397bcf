"""The environment that Prefect and MLflow read when they are imported."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from bife_core.base.files import make_private
from bife_core.base.places import adopt, read_settings_files, sqlite_file, sqlite_url
from bife_core.store.home import Home, project_home


def prepare_environment() -> Home:
    """Read the settings files and give Prefect and MLflow their defaults, unless they are the user's own."""
    read_settings_files()
    home = project_home()
    adopt(_defaults(home))
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        file = sqlite_file(os.environ.get(name, ""))
        # Programs in other directories are to take it for the same file.
        if file is not None and not file.is_absolute():
            os.environ[name] = sqlite_url(file.absolute())
    # Prefect makes its own directory below, but not the one above it. A home that cannot be made is reported
    # by the first use of one of its directories, not by an import, and not by Prefect in its own words.
    try:
        make_private(home.prefect)
    except OSError:
        warnings.filterwarnings("ignore", message="Failed to create the Prefect home directory")
    return home


def mlflow_folder(home: Home) -> Path:
    """Return where MLflow's database and artifacts lie in a home."""
    return home.root / "mlflow"


def pages_address() -> str:
    """Return where a server shows MLflow's pages, with a slash at the end; nothing if MLflow is a database alone."""
    # Runs of `bife up` write to the database directly, which is faster, while a server shows it.
    return served_address(os.environ.get("BIFE_MLFLOW_UI") or os.environ["MLFLOW_TRACKING_URI"])


def served_address(uri: str) -> str:
    """Return the address of a server with a slash at the end, and nothing for a database."""
    return f"{uri.rstrip('/')}/" if uri.startswith(("http://", "https://")) else ""


def mlflow_uri() -> str:
    """Return the address of the home's own MLflow database."""
    return sqlite_url(mlflow_folder(project_home()) / "mlflow.db")


def _defaults(home: Home) -> dict[str, str]:
    defaults = {
        "MLFLOW_TRACKING_URI": mlflow_uri(),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # No rule needs a pickle, and reading one runs whatever it holds.
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
        # A trace counts as stored when the call that stores it returns, not some time later.
        "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        # A server that is away is tried again later; meanwhile the search waits for each attempt.
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "GIT_PYTHON_REFRESH": "quiet",
        "DO_NOT_TRACK": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOCAL_STORAGE_PATH": str(home.root / "results"),
        # Prefect's own default is pickle: a program that may write a result could then run code.
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        # Without an address Prefect would start a server that outlives a process which is killed.
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        # A server of ours writes what tasks report once a second; by default each event is a transaction.
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    }
    if not (os.environ.get("PREFECT_API_URL") or os.environ.get("PREFECT_PROFILE")):
        defaults["PREFECT_HOME"] = str(home.prefect)
        if "?" in defaults["PREFECT_HOME"]:  # of which Prefect itself makes another path
            file = sqlite_url(home.prefect / "prefect.db", "aiosqlite")
            defaults["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = file
        # The command line reports errors itself, as one sentence; Prefect would add its stack.
        defaults |= {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL"}
    return defaults
