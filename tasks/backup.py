"""All of a home in one file, also while runs are under way, and a home made from it."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from bife_core.errors import ConfigError
from bife_core.store import DATABASE
from tasks.home import Home

_ORIGIN: Final = "home.txt"
"""First file of an archive: the path of the home, by which MLflow knows its artifacts."""

_MADE_ANEW: Final = ("logs", "up.json", "prefect/pages")
_LEVEL: Final = 1
"""Of compression: expert samples and figures are compressed already, and databases get small by little effort."""


def back_up(home: Home, file: Path) -> None:
    """Write a home into an archive; SQLite's online backup copies its databases."""
    if not (home.root / DATABASE).exists():
        raise ConfigError(f"{home.root} holds no {DATABASE}, so there is nothing to back up.")
    if file.exists():
        raise ConfigError(f"{file} exists already; name another file.")
    partial = file.absolute().with_name(f".{file.name}.{os.getpid()}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, 0o600))  # keys may be in it
        with tarfile.open(partial, "w:gz", compresslevel=_LEVEL) as archive:
            origin = str(home.root).encode()
            entry = tarfile.TarInfo(_ORIGIN)
            entry.size = len(origin)
            archive.addfile(entry, io.BytesIO(origin))
            for path in _files(home.root):
                name = path.relative_to(home.root)
                with suppress(FileNotFoundError):  # a file of a run under way
                    if path.suffix == ".db":
                        _add_database(archive, path, name)
                    elif path != partial:
                        archive.add(path, name)
        partial.replace(file)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{file} cannot be written ({reason}).") from error
    finally:
        partial.unlink(missing_ok=True)


def restore(home: Home, file: Path) -> None:
    """Make a home, which may hold no file, from an archive of the home that was at the same path."""
    if any(path.is_file() for path in home.root.rglob("*")):
        raise ConfigError(f"{home.root} holds files; set BIFE_HOME to the path of a home that is gone.")
    try:
        with tarfile.open(file) as archive:
            origin = archive.extractfile(_ORIGIN)
            path = origin.read().decode() if origin is not None else ""
            if path != str(home.root):
                raise ConfigError(
                    f"{file} is of the home {path}, by which MLflow knows its artifacts; set BIFE_HOME to that path."
                )
            home.root.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home.root.parent) as folder:
                whole = Path(folder) / "home"
                archive.extractall(whole, filter="data")
                (whole / _ORIGIN).unlink()
                shutil.rmtree(home.root, ignore_errors=True)  # it may have empty folders
                whole.replace(home.root)
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
        raise ConfigError(f"{file} cannot be read as a backup ({error}).") from error


def _files(root: Path) -> Iterator[Path]:
    """Yield the files of a home: first the store, so that MLflow has all that the store says it has."""
    store = root / DATABASE
    yield store
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        beside = path.name.endswith((".db-wal", ".db-shm", ".db-journal"))
        if path.is_file() and path != store and not beside and not name.startswith(_MADE_ANEW):
            yield path


def _add_database(archive: tarfile.TarFile, path: Path, name: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        copy = Path(folder) / path.name
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        archive.add(copy, name)
