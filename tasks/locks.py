"""Locks between processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from bife_core.errors import BifeError
from tasks.progress import note

_AT_ONCE_S: Final = 0.5
_LOOK_AGAIN_S: Final = 2.0


class LockError(BifeError):
    """The file of a lock cannot be used."""


class LockTimeoutError(BifeError):
    """Another process holds a lock for longer than we were willing to wait."""


@contextmanager
def process_lock(path: Path, timeout_s: float = 120.0) -> Iterator[None]:
    """Hold a lock that no other process can hold at the same time.

    The lock is an exclusive transaction on an otherwise empty SQLite file: it works wherever Python runs, and
    the operating system releases it when its holder dies. Threads of one process exclude one another too.

    Parameters
    ----------
    path : Path
        File of the lock; made where it is missing.
    timeout_s : float
        Wall seconds to wait for another holder.

    Raises
    ------
    LockTimeoutError
        If the other holder keeps it longer.
    LockError
        If the file cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None)
            held.enter_context(closing(connection)).execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LockTimeoutError(
                    f"{path} has been locked by another process for over {timeout_s:g} s; wait for it to end."
                ) from error
            raise LockError(
                f"The lock {path} cannot be used ({error}); is the disk full, or not to be written to?"
            ) from error
        yield


@contextmanager
def alone_at(path: Path, work: str) -> Iterator[None]:
    """Hold the lock of a piece of work, waiting without limit while another process is at the very same.

    Both would pay for it otherwise. Who waits finds the other's results, or goes on where it was killed; whoever
    watches is told once, and the state of the run says so while it waits.

    Parameters
    ----------
    path : Path
        File of the lock.
    work : str
        What is being done, for the sentence a person reads.
    """
    with ExitStack() as held:
        try:
            held.enter_context(process_lock(path, _AT_ONCE_S))
        except LockTimeoutError:
            said = f"Another process is at {work}; this one waits for it and then uses what it found."
            from tasks.states import waiting  # brings Prefect, which locks need for nothing else

            note(said)
            with waiting(said):
                while True:
                    with suppress(LockTimeoutError):
                        held.enter_context(process_lock(path, _LOOK_AGAIN_S))
                        break
        yield
