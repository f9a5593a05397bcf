"""Processes of this machine that get everything as a cluster's would: the cheapest check that a run can move."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from bife_core.sandbox import usable_cores


class ProcessEngine:
    """A pool of processes; one that is killed takes the calls under way with it, and new ones take its place.

    Parameters
    ----------
    address : None
        There is none.
    workers : int or None
        Processes; None takes one per usable core.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        self.slots = workers or len(usable_cores())
        self._lock = threading.Lock()
        self._context = multiprocessing.get_context("spawn")
        # Nothing is ever said on this line; its end tells the processes to end, and comes with ours, however we end.
        self._hears, self._line = self._context.Pipe(duplex=False)
        self._processes = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.slots, mp_context=self._context, initializer=_listen, initargs=(self._hears,)
        )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a function."""
        with self._lock:
            try:
                return self._processes.submit(function, *arguments)
            except BrokenProcessPool:
                self._processes.shutdown(wait=False, cancel_futures=True)
                self._processes = self._start()
                return self._processes.submit(function, *arguments)

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            self._processes.shutdown(wait=False, cancel_futures=True)
            self._line.close()


def _listen(line: Connection) -> None:
    """End this process once `line` ends: an executor of Python below 3.14 has no way to end what is under way."""

    def wait() -> None:
        with suppress(EOFError, OSError):
            line.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
