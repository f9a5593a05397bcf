"""Locks between processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bife_core.errors import BifeError


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
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=timeout_s, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise LockTimeoutError(
                f"{path} has been locked by another process for over {timeout_s:g} s; wait for it to end."
            ) from error
        yield
