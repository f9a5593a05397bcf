"""Where runs keep their things, and the environment Prefect and MLflow read when they are imported."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from bife_core.errors import ConfigError
from bife_core.places import home, mlflow_uri, sqlite_file, sqlite_url

LEAST_FREE_MB = 100.0
"""Megabytes on disk below which no run begins: the databases of Prefect and MLflow take some tens when they are new."""

RECORD = "evaluation.json"
"""The file that says that an evaluation was made; of what lies beside it only page, tables and figure come later."""

RUN_ID = re.compile(r"(?:runs:/)?([0-9a-f]{32})")
"""A run of MLflow, as a person gives it."""

SETTINGS_FILE = "mlflow.env"
"""Name of a settings file: lines of NAME=value."""


@dataclass(frozen=True)
class Home:
    """The directory all runs of one user share; `root` is absolute, and may not exist yet."""

    root: Path

    @property
    def instances(self) -> Path:
        """Generated instances, cached by content."""
        return self._directory("instances")

    @property
    def decisions(self) -> Path:
        """Recorded strong-branching decisions."""
        return self._directory("decisions")

    @property
    def runs(self) -> Path:
        """One directory per evolution, collection and evaluation, named by its key."""
        return self._directory("runs")

    @property
    def first_rules(self) -> Path:
        """The rules that a flow run, which may be tried again, began its search with."""
        return self._directory("first_rules")

    @property
    def prefect(self) -> Path:
        """Database and profiles of the embedded Prefect API."""
        return self.root / "prefect"

    @property
    def mlflow(self) -> Path:
        """MLflow's database and artifacts."""
        return self.root / "mlflow"

    @property
    def free_mb(self) -> float:
        """Megabytes that are free where the home lies, which must exist."""
        return shutil.disk_usage(self.root).free / 1e6

    def sizes_mb(self) -> dict[str, float]:
        """Return the megabytes that each file and folder of the home takes, largest first."""
        sizes = {path.name: megabytes(path) for path in self.root.glob("*")}
        return dict(sorted(sizes.items(), key=lambda entry: -entry[1]))

    def evaluations(self) -> list[Path]:
        """Return the folders of evaluations, the newest last."""
        records = self.runs.glob(f"evaluation-*/{RECORD}")
        return [path.parent for path in sorted(records, key=lambda path: path.stat().st_mtime_ns)]

    def require_room(self) -> None:
        """Raise `ConfigError` if the home cannot be written to or its disk is all but full."""
        _ = self.runs
        if self.free_mb < LEAST_FREE_MB:
            raise ConfigError(
                f"Only {self.free_mb:.0f} MB are free where BiFE's home {self.root} lies, and a run needs "
                f"{LEAST_FREE_MB:.0f} MB to begin; make room, or set BIFE_HOME to another disk."
            )

    def _directory(self, name: str) -> Path:
        path = self.root / name
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"BiFE's home {self.root} cannot be written to ({error.strerror or error}); "
                "set BIFE_HOME to a directory of yours."
            ) from error
        return path


def megabytes(path: Path) -> float:
    """Return how much a file takes, or a folder with all below it."""
    size = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with suppress(OSError):  # gone meanwhile
            size += file.lstat().st_size
    return size / 1e6


def project_home() -> Home:
    """Return the home in use: ``BIFE_HOME``, or the platform's directory for user data."""
    return Home(home())


def evaluation_at(path: Path) -> Path:
    """Return the folder of an evaluation, or of its record; a `ConfigError` says if no record lies there."""
    folder = path.parent if path.is_file() else path
    if not (folder / RECORD).is_file():
        raise ConfigError(f"{folder / RECORD} is missing; give the id of an evaluation's run.")
    return folder


def prepare_environment() -> Home:
    """Read the settings files and give Prefect and MLflow their defaults; calling it again changes nothing.

    Files are read in the order ``$BIFE_ENV_FILE``, ``./mlflow.env``, ``<home>/mlflow.env``. The environment wins over
    every file, and an earlier file over a later one; empty values count as absent. A Prefect or MLflow that is the
    user's own (``PREFECT_API_URL``, ``PREFECT_PROFILE``, ``MLFLOW_TRACKING_URI``) keeps its settings.
    """
    named = os.environ.get("BIFE_ENV_FILE")
    _adopt(dotenv_values(Path(named).expanduser(), interpolate=False) if named else {})
    _adopt(dotenv_values(Path.cwd() / SETTINGS_FILE, interpolate=False))
    own = project_home()
    _adopt(dotenv_values(own.root / SETTINGS_FILE, interpolate=False))
    _adopt(_defaults(own))
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        file = sqlite_file(os.environ.get(name, ""))
        # Programs in other directories are to take it for the same file.
        if file is not None and not file.is_absolute():
            os.environ[name] = sqlite_url(file.absolute())
    # Programs that Prefect and MLflow start import this code too, wherever they run.
    code, paths = str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if code not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (code, *paths)))
    # Prefect makes its own directory below, but not the one above it. A home that cannot be made is reported
    # by the first use of one of its directories, not by an import, and not by Prefect in its own words.
    try:
        own.prefect.mkdir(parents=True, exist_ok=True)
    except OSError:
        warnings.filterwarnings("ignore", message="Failed to create the Prefect home directory")
    return own


def _adopt(values: Mapping[str, str | None]) -> None:
    """Add values to the environment where it has none."""
    for name, value in values.items():
        if value and not os.environ.get(name):
            os.environ[name] = value


def _defaults(own: Home) -> dict[str, str]:
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
        "PREFECT_LOCAL_STORAGE_PATH": str(own.root / "results"),
        # Prefect's own default is pickle: a program that may write a result could then run code.
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        # Without an address Prefect would start a server that outlives a process which is killed.
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        # A server of ours writes what tasks report once a second; by default each event is a transaction.
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    }
    if not (os.environ.get("PREFECT_API_URL") or os.environ.get("PREFECT_PROFILE")):
        defaults["PREFECT_HOME"] = str(own.prefect)
        if "?" in defaults["PREFECT_HOME"]:  # of which Prefect itself makes another path
            file = sqlite_url(own.prefect / "prefect.db", "aiosqlite")
            defaults["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = file
        # The command line reports errors itself, as one sentence; Prefect would add its stack.
        defaults |= {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL"}
    return defaults
