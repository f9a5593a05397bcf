"""Where runs keep their things, and the environment Prefect and MLflow read when they are imported."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from dotenv import dotenv_values

from bife_core.errors import ConfigError

LEAST_FREE_MB = 100.0
"""Megabytes on disk below which no run begins: the databases of Prefect and MLflow take some tens when they are new."""

SETTINGS_FILE = "mlflow.env"
"""Name of a settings file: lines of NAME=value."""


@dataclass(frozen=True)
class Home:
    """The directory all runs of one user share.

    Attributes
    ----------
    root : Path
        Absolute path; the directory may not exist yet.
    """

    root: Path

    @property
    def instances(self) -> Path:
        """Generated models, cached by content."""
        return self._directory("instances")

    @property
    def decisions(self) -> Path:
        """Recorded strong-branching decisions."""
        return self._directory("decisions")

    @property
    def runs(self) -> Path:
        """One directory per evolution, named by its key, per collection and per evaluation."""
        return self._directory("runs")

    @property
    def champions(self) -> Path:
        """The champion that a run of Prefect's, which may be tried again, began its search with."""
        return self._directory("champions")

    @property
    def prefect(self) -> Path:
        """Database and profiles of the embedded Prefect API."""
        return self.root / "prefect"

    @property
    def task_results(self) -> Path:
        """Results of Prefect tasks, as JSON, one file per cache key."""
        return self.root / "results"

    @property
    def mlflow(self) -> Path:
        """MLflow's database and artifacts."""
        return self.root / "mlflow"

    @property
    def free_mb(self) -> float:
        """Megabytes that are free where the home lies, which must exist."""
        return shutil.disk_usage(self.root).free / 1e6

    def require_room(self) -> None:
        """Make sure before anything is spent that results can be kept.

        Raises
        ------
        ConfigError
            If the home cannot be written to, or its disk is all but full.
        """
        _ = self.runs
        free_mb = self.free_mb
        if free_mb < LEAST_FREE_MB:
            raise ConfigError(
                f"Only {free_mb:.0f} MB are free where BiFE's home {self.root} lies, and a run needs "
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


def project_home() -> Home:
    """Return the home in use: ``BIFE_HOME``, or the platform's directory for user data."""
    named = os.environ.get("BIFE_HOME")
    root = Path(named).expanduser() if named else platformdirs.user_data_path("bife")
    return Home(root.resolve())


def prepare_environment() -> Home:
    """Read the settings files and give Prefect and MLflow their defaults.

    Files are read in the order ``$BIFE_ENV_FILE``, ``./mlflow.env``, ``<home>/mlflow.env``. What the
    environment already holds wins over every file, and an earlier file over a later one; empty values count
    as absent. Calling this again changes nothing.

    Notes
    -----
    With ``PREFECT_API_URL`` or ``PREFECT_PROFILE`` set, Prefect is the user's own and keeps its settings;
    otherwise its API is started for each run, with its database in the home. So it is with
    ``MLFLOW_TRACKING_URI``.
    """
    named = os.environ.get("BIFE_ENV_FILE")
    if named:
        _adopt(Path(named).expanduser())
    _adopt(Path.cwd() / SETTINGS_FILE)
    home = project_home()
    _adopt(home.root / SETTINGS_FILE)

    defaults = _mlflow_defaults(home) | _prefect_defaults(home)
    for name, value in defaults.items():
        if not os.environ.get(name):
            os.environ[name] = value
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        if name in os.environ:
            os.environ[name] = _absolute(os.environ[name])
    # Prefect makes its own directory below, but not the one above it. A home that cannot be made is reported
    # by the first use of one of its directories, not by an import, and not by Prefect in its own words.
    try:
        home.prefect.mkdir(parents=True, exist_ok=True)
    except OSError:
        warnings.filterwarnings("ignore", message="Failed to create the Prefect home directory")
    return home


def _adopt(path: Path) -> None:
    """Add the file's values to the environment where it has none."""
    if not path.is_file():
        return
    for name, value in dotenv_values(path, interpolate=False).items():
        if value and not os.environ.get(name):
            os.environ[name] = value


def _absolute(address: str) -> str:
    """Return the address of a database such that programs in other directories take it for the same file."""
    scheme, file = "sqlite:///", address.removeprefix("sqlite:///")
    if file == address or file.startswith(("/", ":memory:")):
        return address
    return f"{scheme}{Path(file).absolute()}"


def _mlflow_defaults(home: Home) -> dict[str, str]:
    return {
        "MLFLOW_TRACKING_URI": f"sqlite:///{home.mlflow / 'mlflow.db'}",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Nobody needs a pickle to load a rule, and reading one runs whatever it holds.
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
    }


def _prefect_defaults(home: Home) -> dict[str, str]:
    common = {
        "DO_NOT_TRACK": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOCAL_STORAGE_PATH": str(home.task_results),
        # Prefect's own default is pickle: whoever may write a result could then run code.
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # A server of ours writes what tasks report once a second; by default each event is a transaction.
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    }
    if os.environ.get("PREFECT_API_URL") or os.environ.get("PREFECT_PROFILE"):
        return common
    return common | {
        "PREFECT_HOME": str(home.prefect),
        # The command line reports errors itself, as one sentence; Prefect would add its stack.
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
    }
