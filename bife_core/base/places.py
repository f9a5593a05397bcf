"""Directories of BiFE, and the settings files that name them."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import platformdirs

from bife_core.base.errors import ConfigError

SETTINGS_FILE: Final = "mlflow.env"


def compiled_code() -> Path:
    """Return the folder of native code: below ``BIFE_CACHE_DIR`` or the user's cache directory."""
    return _cache() / "native"


def core_slots() -> Path:
    """Return the folder of the locks of cores: ``BIFE_CORE_SLOTS``, or beside native code."""
    return Path(os.environ.get("BIFE_CORE_SLOTS") or _cache() / "cores")


def _cache() -> Path:
    folder = os.environ.get("BIFE_CACHE_DIR") or platformdirs.user_cache_path("bife")
    return Path(folder).expanduser().absolute()


def usable(folder: Path, *, shared: bool = False) -> Path:
    """Return a writable folder of the cache, or one in the temporary directory; else raise `ConfigError`.

    Code in it is run, so only if it is `shared` it may be another user's than this one's or root's.
    """
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            if shared or folder.stat().st_uid in (0, os.getuid()):
                return folder
    try:
        root = Path(tempfile.gettempdir()) / f"bife-{os.getuid()}"
        root.mkdir(mode=0o700, exist_ok=True)
        if root.is_symlink() or root.stat().st_uid != os.getuid():  # code in it would be run
            raise PermissionError(errno.EPERM, f"{root} is another user's")
        substitute = root / (folder.relative_to(_cache()) if folder.is_relative_to(_cache()) else folder.name)
        substitute.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"Neither {folder} nor a folder in its place can be used ({error.strerror or error}); set "
            "BIFE_CACHE_DIR to a folder of yours."
        ) from error
    return substitute


def home() -> Path:
    """Return the folder that all runs of a user share: ``BIFE_HOME``, or below the platform's user data directory."""
    return Path(os.environ.get("BIFE_HOME") or platformdirs.user_data_path("bife")).expanduser().resolve()


def read_settings_files() -> None:
    """Add what settings files say to the environment: ``$BIFE_ENV_FILE``, `SETTINGS_FILE` here and in the home.

    The environment wins over files, and an earlier file over a later one; empty values count as absent.
    """
    named = os.environ.get("BIFE_ENV_FILE")
    first = [Path(named).expanduser()] if named else []
    for file in (*first, Path.cwd() / SETTINGS_FILE, home() / SETTINGS_FILE):
        if file.exists():
            from dotenv import dotenv_values

            adopt(dotenv_values(file, interpolate=False))


def adopt(values: Mapping[str, str | None]) -> None:
    """Add values to the environment, except where it has one."""
    for name, value in values.items():
        if value and not os.environ.get(name):
            os.environ[name] = value


def sqlite_url(file: Path, driver: str = "pysqlite") -> str:
    """Return the URL by which SQLAlchemy opens a file, also one with ``?`` in its path."""
    if "?" in str(file):
        return f"sqlite+{driver}:///file:{quote(str(file))}?uri=true"  # without a driver some programs make folders
    return f"sqlite:///{file}" if driver == "pysqlite" else f"sqlite+{driver}:///{file}"


def sqlite_file(url: str) -> Path | None:
    """Return the file of an SQLite database by its URL; None for a database in memory or of another kind."""
    kind, _, place = url.partition(":///")
    name, _, query = place.partition("?")
    if kind.partition("+")[0] != "sqlite" or name in ("", ":memory:"):
        return None
    named_by_uri = name.startswith("file:") and "uri=true" in query
    return Path(unquote(name.removeprefix("file:")) if named_by_uri else name)
