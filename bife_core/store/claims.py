"""Claims: who does a piece of work, so that no two processes do it at the same time.

A claim is a row with a lease that its holder renews. When the holder dies, a process of the same machine takes the
claim over at once, and one of another machine when the lease has run out.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import psutil
from sqlalchemy import delete, insert, select, update

from bife_core.errors import BifeError
from bife_core.store.database import Database, StoreError, claims

LEASE_S: Final = 60.0
"""Seconds for which a claim holds without being renewed."""

_RENEW_S: Final = LEASE_S / 4
_POLL_S: Final = 0.25


class ClaimTimeoutError(BifeError):
    """Another process held a claim for longer than the caller was willing to wait."""


class ClaimLostError(BifeError):
    """A claim ran out before it was renewed, and another process may hold it now."""


class Claims:
    """The claims that this process takes in one database; threads may share it.

    Parameters
    ----------
    database : Database
        Where the claims are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = uuid.uuid4().hex
        self._held: dict[str, float] = {}  # name -> end of its lease
        self._lock = threading.Lock()
        self._renewer: threading.Thread | None = None
        self._idle = threading.Event()

    @contextmanager
    def claim(
        self, name: str, timeout_s: float | None = None, waiting: Callable[[], object] | None = None
    ) -> Iterator[None]:
        """Hold a claim; wait while another thread or process holds it.

        Parameters
        ----------
        name : str
            What is claimed.
        timeout_s : float or None
            Seconds to wait at most; None waits without limit, 0 does not wait.
        waiting : callable, optional
            Called once if the claim is held by another.

        Raises
        ------
        ClaimTimeoutError
            If the wait was too long.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        first = True
        while not self.take([name]):
            if deadline is not None and time.monotonic() >= deadline:
                raise ClaimTimeoutError(
                    f"{name} is in use by another process or thread for over {timeout_s:g} s; wait for it to end."
                )
            if first and waiting is not None:
                waiting()
            first = False
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            self.release([name])

    def take(self, names: Sequence[str]) -> set[str]:
        """Take those of the claims that nobody holds, and return them.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        now = time.time()
        own = {"holder": self._holder, "until_unix_s": now + LEASE_S, **_process()}
        with self._database.writing() as connection:
            held = {
                row.name: row
                for row in connection.execute(
                    select(claims).where(claims.c.name.in_(names)).with_for_update()
                )
            }
            taken = {name for name in names if name not in held or not _alive(held[name]._mapping, now)}
            over = [name for name in taken if name in held]
            connection.execute(delete(claims).where(claims.c.name.in_(over)))
            if taken:
                connection.execute(insert(claims), [{"name": name, **own} for name in sorted(taken)])
        with self._lock:
            self._held |= dict.fromkeys(taken, now + LEASE_S)
            self._begin_to_renew()
        return taken

    def release(self, names: Iterable[str]) -> None:
        """Give claims back; a store that cannot be reached lets them run out."""
        given = list(names)
        with self._lock:
            for name in given:
                self._held.pop(name, None)
            if not self._held:
                self._idle.set()
        with suppress(StoreError), self._database.writing() as connection:
            connection.execute(
                delete(claims).where(claims.c.name.in_(given), claims.c.holder == self._holder)
            )

    def check(self, name: str) -> None:
        """Make sure that a claim is still held, before something is done that must not be done twice.

        Raises
        ------
        ClaimLostError
            If it ran out, because the machine slept or the store was away for too long.
        """
        with self._lock:
            until = self._held.get(name, 0.0)
        if time.time() > until:
            raise ClaimLostError(
                f"The claim on {name} ran out while this process could not renew it; run the same command again."
            )

    def held(self, name: str) -> bool:
        """Whether a living process holds a claim."""
        with self._database.reading() as connection:
            row = connection.execute(select(claims).where(claims.c.name == name)).one_or_none()
        return row is not None and _alive(row._mapping, time.time())

    def _begin_to_renew(self) -> None:
        if self._held:
            self._idle.clear()
        if self._held and self._renewer is None:
            self._renewer = threading.Thread(target=self._renew, name="bife-claims", daemon=True)
            self._renewer.start()

    def _renew(self) -> None:
        while True:
            self._idle.wait(_RENEW_S)
            with self._lock:
                names = list(self._held)
                if not names:
                    self._renewer = None
                    return
            until = time.time() + LEASE_S
            # A store that is away for a moment is asked again; `check` says when it was away for too long.
            with suppress(StoreError):
                with self._database.writing() as connection:
                    connection.execute(
                        update(claims)
                        .where(claims.c.holder == self._holder, claims.c.name.in_(names))
                        .values(until_unix_s=until)
                    )
                    kept = set(
                        connection.execute(
                            select(claims.c.name).where(claims.c.holder == self._holder)
                        ).scalars()
                    )
                with self._lock:
                    for name in names:
                        if name in self._held:
                            self._held[name] = until if name in kept else 0.0


def _process() -> dict[str, Any]:
    """Return what identifies this process: process ids are used again, together with their start they are not."""
    pid = os.getpid()
    return {"machine": _machine(), "pid": pid, "began_unix_s": _began_unix_s(pid) or 0.0}


@lru_cache(maxsize=1)
def _machine() -> str:
    """Return what names this machine and, in a container, its own numbering of processes."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/self/ns/pid").readlink().name)
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    return " ".join(parts)


def _began_unix_s(pid: int) -> float | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _alive(row: Any, now: float) -> bool:
    """Whether the holder of a claim may still be at work."""
    if row["machine"] == _machine():
        began = _began_unix_s(int(row["pid"]))
        if began is None or abs(began - row["began_unix_s"]) > 1.0:
            return False
        if row["pid"] == os.getpid():
            return True
    return bool(row["until_unix_s"] > now)
