"""Cores as slots: a process that measures holds one, and no other process that uses the same directory gets it."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bife_core.places import core_slots, own, usable
from bife_core.sandbox.workers import WorkerFailure


def usable_cores() -> tuple[int, ...]:
    """Return the cores this process may run on, in ascending order; all where the system knows no affinity (macOS)."""
    known = hasattr(os, "sched_getaffinity")
    return tuple(sorted(os.sched_getaffinity(0) if known else range(os.cpu_count() or 1)))


class CoreSlots:
    """One slot per core of this machine, shared by all processes that name the same directory.

    Two searches on one machine would otherwise solve on the same cores at the same time, and neither's times
    would mean anything. The operating system releases a slot when its holder dies.

    The directory holds one lock file per core and machine; None is that of the user, see `bife_core.places.core_slots`.
    One that cannot be written to is replaced, see `bife_core.places.own`; so is a file that another user locks away.
    Waiting callers form a line: the first of it tries all cores, the others try for its place. So a search whose
    next solve is ready at once does not keep another one waiting for ever.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = usable(core_slots() if directory is None else directory)
        self._machine = socket.gethostname()

    @contextmanager
    def hold(self, preferred: int, given_up: Callable[[], bool] = lambda: False) -> Iterator[int]:
        """Hold a free core, the preferred one if possible; waits as long as there is none.

        `given_up` is called while waiting; a `WorkerFailure` is raised if it returns True.
        """
        cores = (preferred, *(core for core in usable_cores() if core != preferred))
        with ExitStack() as held:
            with self._first_of(["line"], given_up):
                position = held.enter_context(self._first_of([f"core-{core}" for core in cores], given_up))
            yield cores[position]

    @contextmanager
    def _first_of(self, names: list[str], given_up: Callable[[], bool]) -> Iterator[int]:
        """Hold the first of some lock files that can be had, which alone stays open, and yield its position."""
        while True:
            for position, name in enumerate(names):
                descriptor = self._open(f"{name}@{self._machine}.lock")
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                else:
                    yield position
                    return
                finally:
                    os.close(descriptor)  # which releases the lock
            if given_up():
                raise WorkerFailure("closed", "A call waited for a core when its worker pool was closed.")
            time.sleep(max(0.02, 0.001 * len(names)))  # a look at many files takes longer

    def _open(self, name: str) -> int:
        try:
            return _opened(self._directory / name)
        except PermissionError:
            return _opened(own(self._directory) / name)


def _opened(path: Path) -> int:
    """Open a lock file, which other users of the directory can open too."""
    with suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with suppress(PermissionError):  # of another user, who was faster
        os.fchmod(descriptor, 0o666)  # whatever the umask
    return descriptor
