"""Files that machines hand to one another through a root any of fsspec's file systems holds.

Without ``BIFE_STORAGE`` there is no such root: all machines see the same paths, as one machine does, or several with
a shared file system. With it, such as ``s3://bucket/bife``, a file travels as a key below the root, and each machine
keeps a copy in its own home. Calls take the files they need along; what a stage leaves (decisions, solves, the
directory of an evolution with the answers it paid for, reports) is put there too, so that another machine goes on
where this one stopped.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import fsspec

from bife_core.errors import ConfigError
from bife_core.files import write_whole
from tasks.home import project_home
from tasks.progress import note_listener

VARIABLE: Final = "BIFE_STORAGE"

_GROWING: Final = ".jsonl"
"""Suffix of journals: files that only ever get longer, so that of two versions the longer one is the later."""

_put_states: dict[tuple[str, str], tuple[int, int]] = {}
"""When a file that this process knows to be below a root had last been changed (ns) and its bytes, by root and key."""

_noted: set[str] = set()


class StorageError(OSError):
    """The file system that holds the root does not do what it is asked; as trouble with a disk, it may pass."""


def storage_root() -> str:
    """Return the root as an address fsspec understands, or nothing where files do not travel."""
    return os.environ.get(VARIABLE, "").rstrip("/")


def require_storage() -> None:
    """Make sure before anything is spent that files can be put below the root, if there is one.

    Raises
    ------
    ConfigError
        If the package for its protocol is missing, or the root cannot be written to.
    """
    root = storage_root()
    if not root:
        return
    try:
        with _reached(root) as (system, base):
            probe = f"{base}/.{uuid.uuid4().hex}"
            system.makedirs(base, exist_ok=True)
            system.pipe_file(probe, b"")
            system.rm_file(probe)
    except OSError as error:
        raise ConfigError(f"{VARIABLE} cannot be used: {error}") from error


def key_of(path: Path) -> str:
    """Return the key of a file: its place in the home, or else its content and name."""
    home = project_home().root
    if path.is_relative_to(home):
        return path.relative_to(home).as_posix()
    known = path.stat()
    return f"files/{_digest(path, known.st_size, known.st_mtime_ns)}/{path.name}"


def address_of(path: Path) -> str:
    """Return where others find a file or directory of the home: its address below the root if there is one."""
    root = storage_root()
    return f"{root}/{key_of(path)}" if root and path.is_relative_to(project_home().root) else str(path)


def publish(path: Path, root: str) -> str:
    """Put a file that never changes below the root and return its key; a file already there is left.

    Raises
    ------
    OSError
        If that is not possible.
    """
    key = key_of(path)
    if (root, key) not in _put_states:
        with _reached(root) as (system, base):
            if not system.exists(f"{base}/{key}"):
                _put(path, key, root)
        _put_states[root, key] = _state(path)
    return key


def fetch(key: str, root: str) -> Path:
    """Return this machine's copy of a published file, fetching it if it is missing.

    Raises
    ------
    OSError
        If there is no such file below the root, or it cannot be had.
    """
    path = project_home().root / key
    return path if path.exists() else _fetched(key, root)


def share(directory: Path, *, changing: bool = False) -> None:
    """Put the files of a directory of the home below the root, if there is one; trouble is a note.

    Parameters
    ----------
    changing : bool
        Whether files may have changed since they were put there, as those of a run do; others are left as they are.
        Nothing is put where another machine has gone on with a journal.
    """
    root = storage_root()
    if not root or not directory.is_dir():
        return
    with noting_trouble(
        f"{address_of(directory)} is not up to date, so no other machine can go on from there"
    ):
        there = _sizes_below(directory, root)
        if changing and any(found != "ours" for found in _later_journals(there, root).values()):
            raise StorageError("another machine has gone on with its journal")
        for path in sorted(directory.rglob("*")):
            if not path.is_file() or path.name.startswith("."):
                continue
            key, state = key_of(path), _state(path)
            if key not in there or (changing and _put_states.get((root, key)) != state):
                _put(path, key, root)
            _put_states[root, key] = state


def recall(directory: Path) -> None:
    """Fetch the files of a directory of the home that the root holds and this machine lacks; trouble is a note.

    Where another machine has gone on with a journal, all files there take the place of this machine's.

    Raises
    ------
    ConfigError
        If two machines went on with a journal apart from each other.
    """
    root = storage_root()
    if not root:
        return
    with noting_trouble(f"What other machines left in {address_of(directory)} cannot be had"):
        there = _sizes_below(directory, root)
        later = _later_journals(there, root)
        for key in (key for key, found in later.items() if found == "neither"):
            raise ConfigError(
                f"Two machines went on with one run apart from each other: {project_home().root / key} and "
                f"{root}/{key} differ before they end. Delete the directory of the one that is not to go on."
            )
        anew = "theirs" in later.values()
        # Journals come last: one that is behind has the rest fetched again.
        for key in sorted(there, key=lambda key: (key.endswith(_GROWING), key)):
            if anew or not (project_home().root / key).exists():
                path = _fetched(key, root)
                _put_states[root, key] = _state(path)


@contextmanager
def noting_trouble(what: str) -> Iterator[None]:
    """Go on when the root cannot be used: who watches is told once what follows from that."""
    try:
        yield
    except OSError as error:
        listener = note_listener()
        if listener is not None and what not in _noted:
            _noted.add(what)
            listener(f"{what}: {error}")


@contextmanager
def _reached(root: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a root and the root's path in it; whatever it raises becomes an `OSError`."""
    try:
        # Listings are not kept: other machines write there too.
        yield fsspec.core.url_to_fs(root, use_listings_cache=False)
    except OSError:
        raise
    except Exception as error:  # the libraries behind a file system have errors of their own
        said = (str(error).strip().splitlines() or [""])[0]
        raise StorageError(f"{root} cannot be used ({type(error).__name__}: {said}).") from error


def _later_journals(there: Mapping[str, int], root: str) -> dict[str, Literal["ours", "theirs", "neither"]]:
    """Return which version of each journal that lies here too is the later one; ours if they are the same."""
    found: dict[str, Literal["ours", "theirs", "neither"]] = {}
    for key, size in there.items():
        path = project_home().root / key
        if key.endswith(_GROWING) and path.exists():
            _, known = _put_states.get((root, key), (0, None))
            if size == known:  # it is as this process put it there: a journal only gets longer
                found[key] = "ours"
                continue
            # A process that was killed may have left half a line.
            ours, theirs = (text.rpartition(b"\n")[0] for text in (path.read_bytes(), _read(key, root)))
            found[key] = (
                "ours" if ours.startswith(theirs) else "theirs" if theirs.startswith(ours) else "neither"
            )
    return found


def _fetched(key: str, root: str) -> Path:
    path = project_home().root / key
    write_whole(path, _read(key, root))
    return path


def _read(key: str, root: str) -> bytes:
    with _reached(root) as (system, base), system.open(f"{base}/{key}", "rb") as source:
        content: bytes = source.read()
    return content


def _sizes_below(directory: Path, root: str) -> dict[str, int]:
    """Return the bytes of all files of a directory that lie below the root, by key."""
    with _reached(root) as (system, base):
        found = system.find(f"{base}/{key_of(directory)}", detail=True)
        sizes = {
            str(name).removeprefix(f"{base.rstrip('/')}/"): known["size"] for name, known in found.items()
        }
        return {key: size for key, size in sizes.items() if not key.rpartition("/")[2].startswith(".")}


def _state(path: Path) -> tuple[int, int]:
    known = path.stat()
    return known.st_mtime_ns, known.st_size


def _put(path: Path, key: str, root: str) -> None:
    """Put a file below the root whole or not at all."""
    with _reached(root) as (system, base):
        target = f"{base}/{key}"
        if system.async_impl:  # a store of objects, which shows none before it is whole
            system.put_file(str(path), target)
            return
        place = target.rpartition("/")[0]
        partial = f"{place}/.{uuid.uuid4().hex}"
        system.makedirs(place, exist_ok=True)
        system.put_file(str(path), partial)
        system.mv(partial, target)


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed_ns: int) -> str:
    """Return the hash of a file's content, read again only if the file has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
