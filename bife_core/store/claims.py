"""Claims: exclusive locks that processes hold in the database.

A claim is a row with a lease, by the clock of the database, that its holder renews. If the holder dies, a process of
the same machine takes the claim over at once, one of another machine when the lease ends. A holder that did not renew
it in time may have lost it: `fence` checks that in the transaction that writes.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import psutil
from sqlalchemy import ColumnElement, Connection, Row, delete, extract, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bife_core.base.errors import BifeError, StoreError
from bife_core.store.database import Database, claims

LEASE_S: Final = 60.0
"""Seconds a claim holds without being renewed."""
PATIENCE_S: Final = 5.0
"""Seconds of waiting for a claim after which its holder is reported."""
_RENEW_S: Final = LEASE_S / 4
_POLL_S: Final = 0.25
_NOW: Final = extract("epoch", func.current_timestamp())

_logger = logging.getLogger(__name__)
_held_here: dict[str, set[str]] = {}


class ClaimTimeoutError(BifeError):
    """A claim was held by another process beyond the timeout."""


class ClaimLostError(BifeError):
    """A claim was not renewed in time, and another process took it over."""


class Claims:
    """The claims of this process in one database; thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = uuid.uuid4().hex
        self._held = _held_here.setdefault(self._holder, set())
        self._overdue: dict[tuple[str, str, float], float] = {}
        self._lock = threading.Lock()
        self._renewer: threading.Thread | None = None

    @contextmanager
    def claim(
        self, name: str, timeout_s: float | None = None, waits: Callable[[str], object] | None = None
    ) -> Iterator[None]:
        """Hold a claim; wait while another thread or process holds it, or raise `ClaimTimeoutError` after `timeout_s`.

        In a long wait `waits` is called once with the holder in words, which is logged by default. If the name ends
        with the key of a study, writing to the study raises `ClaimLostError` once the claim is lost.
        """
        tell = waits or partial(_logger.warning, "Waiting for %s, under way in %s.", name)
        began, told = time.monotonic(), False
        while not self.take([name]):
            waited_s = time.monotonic() - began
            if timeout_s is not None and waited_s >= timeout_s:
                raise ClaimTimeoutError(f"{name} is in use by {self.holder(name)}; wait for it to end.")
            if waited_s >= PATIENCE_S and not told:
                tell(self.holder(name))
                told = True
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            self.release([name])

    def take(self, names: Iterable[str]) -> set[str]:
        """Take those of the claims that no living process holds, and return them."""
        lease: dict[str, Any] = {"holder": self._holder, "until_unix_s": _NOW + LEASE_S, "machine": machine()}
        lease |= {"pid": os.getpid(), "began_unix_s": began_s(os.getpid()) or 0.0}
        with self._lock:
            before = self._held.copy()  # a lost one is not taken again: its holder must notice
            wanted = set(names) - before
            rows = select(claims, (claims.c.until_unix_s > _NOW).label("current"))
            rows = rows.where(claims.c.name.in_(wanted)).order_by(claims.c.name).with_for_update()
            try:
                with self._database.writing() as connection:
                    taken = wanted - {row.name for row in connection.execute(rows) if self._alive(row)}
                    if taken:
                        connection.execute(delete(claims).where(claims.c.name.in_(taken)))
                        new = [{"name": name, **lease} for name in sorted(taken)]
                        connection.execute(insert(claims).values(new))
                    self._held |= taken  # before other threads see the rows
            except IntegrityError:  # another process took one first, which can happen on a server
                return set()
            except StoreError:
                self._held &= before
                raise
            if self._held and self._renewer is None:
                self._renewer = threading.Thread(target=self._renew, name="bife-claims", daemon=True)
                self._renewer.start()
        return taken

    def release(self, names: Iterable[str]) -> None:
        """Release claims; if the store cannot be reached, their leases end."""
        released = set(names)
        with self._lock:
            self._held -= released
        with suppress(StoreError), self._database.writing() as connection:
            connection.execute(delete(claims).where(self._of_holder(released)))

    def of(self, study: str) -> set[str]:
        """Return the claims held here that are named after a study."""
        return {name for name in self._held.copy() if name == study or name.endswith(f" {study}")}

    def fence(self, connection: Connection, names: set[str]) -> None:
        """Raise `ClaimLostError` unless claims that were taken here hold until the transaction ends."""
        rows = select(claims.c.name).where(self._of_holder(names)).with_for_update(read=True)
        if lost := names and names - set(connection.scalars(rows)):
            raise ClaimLostError(
                f"The claim on {min(lost)} is lost: this process did not renew it for {LEASE_S:g} s, as while a "
                "machine sleeps, and another process took it over. Nothing more is written; run the command again."
            )

    def held(self, name: str) -> bool:
        """Whether a living process may hold a claim."""
        rows = select(claims, (claims.c.until_unix_s > _NOW).label("current")).where(claims.c.name == name)
        return any(map(self._alive, self._database.rows(rows)))

    def holder(self, name: str) -> str:
        """Return the holder of a claim in words."""
        row = next(iter(self._database.rows(select(claims).where(claims.c.name == name))), None)
        if row is None or (row.machine, row.pid) == (machine(), os.getpid()):
            return "another thread of this process" if name in self._held or row else "another process"
        return f"process {row.pid} on {row.machine.partition(' ')[0]}"

    def _of_holder(self, names: set[str]) -> ColumnElement[bool]:
        return claims.c.name.in_(names) & (claims.c.holder == self._holder)

    def _renew(self) -> None:
        lost = set[str]()
        while True:
            time.sleep(_RENEW_S)
            with self._lock:
                if not self._held:
                    self._renewer = None
                    return
                held = self._of_holder(self._held)
                with suppress(StoreError), self._database.writing() as connection:
                    renewed = update(claims).where(held).values(until_unix_s=_NOW + LEASE_S)
                    missing = set[str]()
                    if connection.execute(renewed).rowcount < len(self._held):
                        missing = self._held - set(connection.scalars(select(claims.c.name).where(held)))
                    for name in sorted(missing - lost):
                        _logger.warning("The claim on %s is lost: it was not renewed in time.", name)
                    lost = missing

    def _alive(self, row: Row[Any]) -> bool:
        if row.machine != machine():
            return bool(row.current)
        if row.pid == os.getpid() and row.holder in _held_here:
            return row.name in _held_here[row.holder]
        if not runs(row.pid, row.began_unix_s):
            return False
        if row.current:
            return True
        # After a sleep of the machine all leases have ended: the holder has some time to renew its own.
        now = time.monotonic()
        return now - self._overdue.setdefault((row.name, row.holder, row.until_unix_s), now) < LEASE_S / 2


@cache
def machine() -> str:
    """Return a name of this machine, its boot and, in a container, its namespace of process ids."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/self/ns/pid").readlink().name)
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    return " ".join(parts)


def began_s(pid: int) -> float | None:
    """Return when a process began, in seconds after the boot, which with its id identifies it; None if it is gone."""
    try:
        process, boot_unix_s = psutil.Process(pid), psutil.boot_time()  # which changes when the clock is set
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time() - boot_unix_s
    except psutil.Error:
        return None


def runs(pid: int, since_s: float | None = None) -> bool:
    """Whether a process is alive that began at `since_s` (`began_s`), rather than a later one of the same id."""
    began = began_s(pid)
    return began is not None and (since_s is None or abs(began - since_s) <= 1.0)
