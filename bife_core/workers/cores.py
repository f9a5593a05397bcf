"""Slots for cores, by lock files: a call that measures holds a core alone."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bife_core.base.places import core_slots, usable
from bife_core.workers.base import WorkerFailure


def usable_cores() -> tuple[int, ...]:
    """Return the cores this process may run on, in ascending order; all where the system knows no affinity (macOS)."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return tuple(sorted(os.sched_getaffinity(0) if has_affinity else range(os.cpu_count() or 1)))


class CoreSlots:
    """One lock file per core and machine in a directory, by default the user's (`bife_core.base.places.core_slots`).

    Solves on one core at the same time would spoil each other's times. The system releases a slot when its holder dies.
    Waiting callers that may use the same cores queue, so that none waits for ever: the first tries all of these, the
    others try for its place.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = usable(core_slots() if directory is None else directory, shared=True)
        self._machine = socket.gethostname()

    @contextmanager
    def hold(self, preferred: int, given_up: Callable[[], bool] = lambda: False) -> Iterator[int]:
        """Hold a free core, the preferred one if possible; raise `WorkerFailure` once `given_up` while waiting."""
        cores = (preferred, *(core for core in usable_cores() if core != preferred))
        # One that may use a single core must not keep those waiting whose cores are free.
        line = f"line-{sum(1 << core for core in cores):x}"
        with ExitStack() as held:
            with self._first_of([line], given_up):
                position = held.enter_context(self._first_of([f"core-{core}" for core in cores], given_up))
            yield cores[position]

    @contextmanager
    def _first_of(self, names: list[str], given_up: Callable[[], bool]) -> Iterator[int]:
        """Hold the first of some lock files that can be had, which alone stays open, and yield its position."""
        while True:
            for position, name in enumerate(names):
                descriptor = _opened(self._directory / f"{name}@{self._machine}.lock")
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


def _opened(path: Path) -> int:
    """Open a lock file that other users can open too."""
    with suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with suppress(PermissionError):  # of another user, who was faster
        os.fchmod(descriptor, 0o666)  # whatever the umask
    return descriptor
