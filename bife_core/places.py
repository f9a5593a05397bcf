"""Where BiFE keeps what all homes of a user share; a module of its own: asking costs no import of a compiler."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from urllib.parse import quote, unquote

import platformdirs

from bife_core.errors import ConfigError


def compiled_code() -> Path:
    """Return where native code is kept: below ``BIFE_CACHE_DIR`` or the user's cache directory."""
    return _cache() / "native"


def core_slots() -> Path:
    """Return where processes of one machine agree on its cores: ``BIFE_CORE_SLOTS``, or beside native code."""
    return Path(os.environ.get("BIFE_CORE_SLOTS") or _cache() / "cores")


def _cache() -> Path:
    folder = os.environ.get("BIFE_CACHE_DIR") or platformdirs.user_cache_path("bife")
    return Path(folder).expanduser().absolute()


def usable(folder: Path) -> Path:
    """Return a folder of the cache, made if need be, or `own` where it cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return own(folder)


def own(folder: Path) -> Path:
    """Return what all processes of this user, and no others, use in place of a folder: below the temporary directory.

    A `ConfigError` says that this cannot be used either.
    """
    try:
        root = Path(tempfile.gettempdir()) / f"bife-{os.getuid()}"
        root.mkdir(mode=0o700, exist_ok=True)
        if root.is_symlink() or root.stat().st_uid != os.getuid():  # code in it would be run
            raise PermissionError(errno.EPERM, f"{root} is another user's")
        place = root / (folder.relative_to(_cache()) if folder.is_relative_to(_cache()) else folder.name)
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"Neither {folder} nor a folder in its place can be written to ({error.strerror or error}); set "
            "BIFE_CACHE_DIR to a folder of yours."
        ) from error
    return place


def home() -> Path:
    """Return the folder that all runs of a user share: ``BIFE_HOME``, or the platform's place for user data."""
    return Path(os.environ.get("BIFE_HOME") or platformdirs.user_data_path("bife")).expanduser().resolve()


def store_address() -> str:
    """Return where the store of the home is: the database that ``BIFE_STORE`` names, or the home's folder."""
    return os.environ.get("BIFE_STORE") or str(home())


def mlflow_uri() -> str:
    """Return the address of the home's own MLflow database."""
    return sqlite_url(home() / "mlflow" / "mlflow.db")


def sqlite_url(file: Path, driver: str = "pysqlite") -> str:
    """Return the URL under which SQLAlchemy opens a file, whatever its path: a plain one ends at the first ``?``."""
    # With its driver: of a URL without one, MLflow makes the folders of a path that begins with "file:".
    if "?" in str(file):
        return f"sqlite+{driver}:///file:{quote(str(file))}?uri=true"
    return f"sqlite:///{file}" if driver == "pysqlite" else f"sqlite+{driver}:///{file}"


def sqlite_file(url: str) -> Path | None:
    """Return the file of an SQLite database by its URL; None for a database in memory or of another kind."""
    kind, _, place = url.partition(":///")
    name, _, asked = place.partition("?")
    if kind.partition("+")[0] != "sqlite" or name in ("", ":memory:"):
        return None
    named_by_uri = name.startswith("file:") and "uri=true" in asked
    return Path(unquote(name.removeprefix("file:")) if named_by_uri else name)
