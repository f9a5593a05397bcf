"""Back up a home into one archive, also during runs, and restore it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Final

from bife_core.base.errors import ConfigError
from bife_core.base.files import make_private
from bife_core.store import DATABASE
from bife_core.store.home import Home

_ORIGIN: Final = "comment"
"""What the header of an archive holds the path of the home as, by which a tracker knows its artifacts."""

_MADE_ANEW: Final = ("logs", "up.json", "prefect/pages")
_OF_DATABASES: Final = (".db-wal", ".db-shm", ".db-journal")
_SQLITE: Final = b"SQLite format 3\0"


def back_up(home: Home, file: Path) -> tuple[str, ...]:
    """Write a home, links followed, into an archive, and check that it can be restored.

    Returns a sentence on each file that no archive can hold, such as a socket. A `ConfigError` says that links go in a
    circle, or that a file cannot be read or changes while it is copied; databases may change.
    """
    if not (home.root / DATABASE).exists():
        raise ConfigError(f"{home.root} holds no {DATABASE}, so there is nothing to back up.")
    file = Path(os.path.realpath(file))
    if file.exists():
        raise ConfigError(f"{file} exists already; name another file.")
    partial, left_out = file.absolute().with_name(f".{file.name}.{os.getpid()}"), list[str]()
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, 0o600))  # keys may be in it
        origin = {_ORIGIN: str(home.root)}
        # Expert samples and figures are compressed already, and databases shrink enough.
        with tarfile.open(partial, "w:gz", compresslevel=1, dereference=True, pax_headers=origin) as archive:
            store, root = (
                home.root / DATABASE,
                home.root,
            )  # first the store, so that a tracker has all that it says
            for path in (store, *sorted({*_below(root, root, (root.resolve(),))} - {store})):
                name = path.relative_to(home.root).as_posix()
                if not path.is_file():
                    if os.path.lexists(path):  # else a run has removed it
                        what = f"a link to {path.readlink()}" if path.is_symlink() else "a socket or device"
                        left_out.append(f"{path} is {what}, with nothing to copy, and is left out.")
                elif path.name != partial.name:
                    _add_file(archive, path, name)
            written = {entry.name: entry.size for entry in archive.getmembers()}
        with tarfile.open(partial) as archive:
            # What `restore` would not take is a `TarError`.
            content = {tarfile.data_filter(entry, str(file.parent)).name: entry.size for entry in archive}
        if content != written:
            raise tarfile.TarError("it does not hold what was written")
        partial.replace(file)
    except (OSError, sqlite3.Error, tarfile.TarError, zlib.error) as error:
        named = getattr(error, "filename", None) or partial
        reason = getattr(error, "strerror", None) if Path(named) == partial else None
        raise ConfigError(f"{file} cannot be written ({reason or error}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return tuple(left_out)


def restore(home: Home, file: Path) -> None:
    """Restore a home, which may hold no files, from an archive of the home at the same path."""
    if any(path.is_file() for path in home.root.rglob("*")):
        raise ConfigError(f"{home.root} holds files; set BIFE_HOME to the path of a home that is gone.")
    try:
        with tarfile.open(file) as archive:
            if (path := archive.pax_headers[_ORIGIN]) != str(home.root):
                raise ConfigError(
                    f"{file} is of the home {path}, by which MLflow knows its artifacts; set BIFE_HOME to that path."
                )
            home.root.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home.root.parent) as folder:
                restored = Path(folder) / "home"
                make_private(restored)
                archive.extractall(restored, filter="data")
                shutil.rmtree(home.root, ignore_errors=True)  # it may have empty folders
                restored.replace(home.root)
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
        raise ConfigError(f"{file} cannot be read as a backup ({error}).") from error


def _below(root: Path, folder: Path, inside: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the files of a folder, links followed; `inside` are the resolved folders it lies in."""
    for path in folder.iterdir():
        if path.relative_to(root).as_posix() in _MADE_ANEW or path.name.endswith(_OF_DATABASES):
            continue
        if not path.is_dir():
            yield path
            continue
        place = path.resolve()
        if path.is_symlink() and any(place in (folder, *folder.parents) for folder in inside):
            raise ConfigError(
                f"{path} is a link to {place}, which it lies in itself; a backup of it would have no end: remove it."
            )
        yield from _below(root, path, (*inside, place))


def _add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file, unless it is gone; SQLite's online backup copies a database."""
    try:
        with path.open("rb") as opened:
            if path.suffix != ".db" or opened.read(len(_SQLITE)) != _SQLITE:
                opened.seek(0)
                _add(archive, name, opened)
                return
    except FileNotFoundError:
        return
    with tempfile.TemporaryDirectory(dir=Path(str(archive.name)).parent) as folder:
        copy = Path(folder) / path.name
        copy.touch(0o600)  # as it is restored
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
        with closing(database) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        with copy.open("rb") as opened:
            _add(archive, name, opened)


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes]) -> None:
    entry = archive.gettarinfo(arcname=name, fileobj=content)
    try:
        archive.addfile(entry, content)
    except OSError as error:
        if error.errno is not None:
            raise
        raise ConfigError(f"{name} became shorter while it was copied; make the backup once more.") from error
