"""Claims: which process does a piece of work, so that no two do it at the same time.

A claim is a row with a lease, by the clock of the database, that its holder renews. When the holder dies, a process of
the same machine takes the claim over at once, and one of another machine when the lease has run out. A holder that did
not renew it in time may have lost it: `fence` makes sure in the transaction that writes.
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
from sqlalchemy import Connection, Row, delete, extract, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bife_core.base.errors import BifeError
from bife_core.store.database import Database, StoreError, claims

LEASE_S: Final = 60.0
"""Seconds for which a claim holds without being renewed."""
PATIENCE_S: Final = 5.0
"""Seconds of waiting for a claim after which the waiting process says who holds it."""
_RENEW_S: Final = LEASE_S / 4
_POLL_S: Final = 0.25
_NOW: Final = extract("epoch", func.current_timestamp())

_logger = logging.getLogger(__name__)
_held_here: dict[str, set[str]] = {}
"""The claims that this process holds, by holder: of its own process a row alone says nothing."""


class ClaimTimeoutError(BifeError):
    """Another process held a claim for longer than the caller was willing to wait."""


class ClaimLostError(BifeError):
    """The holder of a claim did not renew it in time, and another process has taken it over or done the work."""


class Claims:
    """The claims that this process takes in one database; threads may share it."""

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

        In a long wait `waits` is called once with who holds the claim, in words; by default that is logged. If its name
        ends with the key of a study, writing to that raises `ClaimLostError` once it is taken over.
        """
        tell = waits or partial(_logger.warning, "Waiting for %s, in use by %s.", name)
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
        own: dict[str, Any] = {"holder": self._holder, "until_unix_s": _NOW + LEASE_S, "machine": machine()}
        own |= {"pid": os.getpid(), "began_unix_s": began_s(os.getpid()) or 0.0}
        with self._lock:
            before = self._held.copy()  # one that was lost is not taken anew: its holder must notice
            wanted = set(names) - before
            rows = select(claims, (claims.c.until_unix_s > _NOW).label("current"))
            rows = rows.where(claims.c.name.in_(wanted)).order_by(claims.c.name).with_for_update()
            try:
                with self._database.writing() as connection:
                    taken = wanted - {row.name for row in connection.execute(rows) if self._alive(row)}
                    if taken:
                        connection.execute(delete(claims).where(claims.c.name.in_(taken)))
                        new = [{"name": name, **own} for name in sorted(taken)]
                        connection.execute(insert(claims).values(new))
                    self._held |= taken  # before other threads see the rows
            except IntegrityError:  # another process was faster with one, which only a server lets happen
                return set()
            except StoreError:
                self._held &= before
                raise
            if self._held and self._renewer is None:
                self._renewer = threading.Thread(target=self._renew, name="bife-claims", daemon=True)
                self._renewer.start()
        return taken

    def release(self, names: Iterable[str]) -> None:
        """Give claims back; if the store cannot be reached, they run out."""
        released = set(names)
        with self._lock:
            self._held -= released
        own = claims.c.name.in_(released) & (claims.c.holder == self._holder)
        with suppress(StoreError), self._database.writing() as connection:
            connection.execute(delete(claims).where(own))

    def of(self, study: str) -> set[str]:
        """Return the claims held here that are named after a study: on its events."""
        return {name for name in self._held.copy() if name == study or name.endswith(f" {study}")}

    def fence(self, connection: Connection, names: set[str]) -> None:
        """Raise `ClaimLostError` unless claims that were taken here still hold, and do until the transaction ends."""
        own = claims.c.name.in_(names) & (claims.c.holder == self._holder)
        rows = select(claims.c.name).where(own).with_for_update(read=True)
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
        """Return who holds a claim, in words."""
        row = next(iter(self._database.rows(select(claims).where(claims.c.name == name))), None)
        if row is None or (row.machine, row.pid) == (machine(), os.getpid()):
            return "another thread of this process" if name in self._held or row else "another process"
        return f"process {row.pid} on {row.machine.partition(' ')[0]}"

    def _renew(self) -> None:
        """Renew the leases, and log which are lost."""
        lost = set[str]()
        while True:
            time.sleep(_RENEW_S)
            with self._lock:
                if not self._held:
                    self._renewer = None
                    return
                own = claims.c.name.in_(self._held) & (claims.c.holder == self._holder)
                with suppress(StoreError), self._database.writing() as connection:  # else it is asked again
                    renewed = update(claims).where(own).values(until_unix_s=_NOW + LEASE_S)
                    missing = set[str]()
                    if connection.execute(renewed).rowcount < len(self._held):
                        missing = self._held - set(connection.scalars(select(claims.c.name).where(own)))
                    for name in sorted(missing - lost):
                        _logger.warning("The claim on %s is lost: it was not renewed in time.", name)
                    lost = missing

    def _alive(self, row: Row[Any]) -> bool:
        """Whether the holder of a claim may still be at work."""
        if row.machine != machine():
            return bool(row.current)
        if row.pid == os.getpid() and row.holder in _held_here:
            return row.name in _held_here[row.holder]
        if not runs(row.pid, row.began_unix_s):
            return False
        if row.current:
            return True
        # After a sleep of the machine all leases are over: the holder has a moment to renew its own.
        now = time.monotonic()
        return now - self._overdue.setdefault((row.name, row.holder, row.until_unix_s), now) < LEASE_S / 2


@cache
def machine() -> str:
    """Return what names this machine and, in a container, its own numbering of processes."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/self/ns/pid").readlink().name)
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    return " ".join(parts)


def began_s(pid: int) -> float | None:
    """Return how long after the boot a process began, which with its id identifies it; None if it is gone."""
    try:
        process, boot_unix_s = psutil.Process(pid), psutil.boot_time()  # which moves when the clock is set
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time() - boot_unix_s
    except psutil.Error:
        return None


def runs(pid: int, since_s: float | None = None) -> bool:
    """Whether a process is alive, which `began_s` said began then; a younger one has only inherited the number."""
    began = began_s(pid)
    return began is not None and (since_s is None or abs(began - since_s) <= 1.0)
