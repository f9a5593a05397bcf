"""Claims: which process does a piece of work, so that no two do it at the same time.

A claim is a row with a lease that its holder renews. When the holder dies, a process of the same machine takes the
claim over at once, and one of another machine when the lease has run out.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bife_core.errors import BifeError
from bife_core.store.database import Database, StoreError, claims

LEASE_S: Final = 60.0
"""Seconds for which a claim holds without being renewed."""

_RENEW_S: Final = LEASE_S / 4
_POLL_S: Final = 0.25


class ClaimTimeoutError(BifeError):
    """Another process held a claim for longer than the caller was willing to wait."""


class Claims:
    """The claims that this process takes in one database; threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = uuid.uuid4().hex
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._renewer: threading.Thread | None = None

    @contextmanager
    def claim(self, name: str, timeout_s: float | None = None) -> Iterator[None]:
        """Hold a claim; wait while another thread or process holds it, `timeout_s` seconds at most unless it is None.

        Raises `ClaimTimeoutError` if that was too long.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.take([name]):
            if deadline is not None and time.monotonic() >= deadline:
                raise ClaimTimeoutError(
                    f"{name} is in use by another process or thread for over {timeout_s:g} s; wait for it to end."
                )
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            self.release([name])

    def take(self, names: Sequence[str]) -> set[str]:
        """Take those of the claims that no living process holds, and return them."""
        now = time.time()
        own = {"holder": self._holder, "until_unix_s": now + LEASE_S, "machine": _machine()}
        own |= {"pid": os.getpid(), "began_unix_s": _began_unix_s(os.getpid()) or 0.0}
        try:
            with self._database.writing() as connection:
                rows = connection.execute(select(claims).where(claims.c.name.in_(names)).with_for_update())
                held = {row.name: _alive(row, now) for row in rows}
                taken = {name for name in names if not held.get(name)}
                connection.execute(delete(claims).where(claims.c.name.in_(taken & held.keys())))
                if taken:
                    connection.execute(insert(claims), [{"name": name, **own} for name in sorted(taken)])
        except IntegrityError:  # another process took one at the same time, which only a server lets happen
            return set()
        with self._lock:
            self._held |= taken
            if self._held and self._renewer is None:
                self._renewer = threading.Thread(target=self._renew, name="bife-claims", daemon=True)
                self._renewer.start()
        return taken

    def release(self, names: Iterable[str]) -> None:
        """Give claims back; a store that cannot be reached lets them run out."""
        released = set(names)
        with self._lock:
            self._held -= released
        own = claims.c.name.in_(released) & (claims.c.holder == self._holder)
        with suppress(StoreError), self._database.writing() as connection:
            connection.execute(delete(claims).where(own))

    def _renew(self) -> None:
        """Renew the leases; of one that ran out, as while the machine slept, nothing is left to renew."""
        while True:
            time.sleep(_RENEW_S)
            with self._lock:
                if not self._held:
                    self._renewer = None
                    return
                held = set(self._held)
            # A store that is away for a moment is asked again.
            with suppress(StoreError), self._database.writing() as connection:
                own = update(claims).where(claims.c.name.in_(held) & (claims.c.holder == self._holder))
                connection.execute(own.values(until_unix_s=time.time() + LEASE_S))


@cache
def _machine() -> str:
    """Return what names this machine and, in a container, its own numbering of processes."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/self/ns/pid").readlink().name)
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    return " ".join(parts)


def _began_unix_s(pid: int) -> float | None:
    """Return when a process began, which with its id identifies it; None if it is gone."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _alive(row: Row[Any], now: float) -> bool:
    """Whether the holder of a claim may still be at work."""
    if row.machine == _machine():
        began = _began_unix_s(row.pid)
        if began is None or abs(began - row.began_unix_s) > 1.0:
            return False
        if row.pid == os.getpid():
            return True
    return bool(row.until_unix_s > now)
