"""A pool of persistent workers behind `concurrent.futures`."""

from __future__ import annotations

import json
import resource
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Unpack

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError
from bife_core.workers.base import Allowed, WorkerFailure, Workers, package_of
from bife_core.workers.confinement import MEASURES, Confinement, directories_of, memory_share_mb
from bife_core.workers.cores import CoreSlots, usable_cores
from bife_core.workers.process import WorkerProcess

START_LIMIT_S: Final = 120.0
"""Wall seconds a worker may take to start; a slow disk under load needs many."""


class _Task(NamedTuple):
    future: Future[Any]
    call: str
    arguments: dict[str, Any]
    limit_s: float
    memory_mb: float | None
    reads: frozenset[Path]
    writes: frozenset[Path]
    processes: bool


class WorkerPool(Workers):
    """Runs functions of `bife_core` in sandboxed workers with a hard limit on time.

    Workers start when first needed and serve many calls. One that overruns a limit, or dies, is killed with its process
    group and replaced.

    Parameters
    ----------
    workers : int or None
        Workers at most; None takes one per usable core.
    pin : bool
        Make each call on a core of its own, so that CPU times are comparable; the limit of a call leaves out the wait.
    measures : tuple of str
        Measures of the sandbox (`bife_core.workers.confinement.MEASURES`).

    Examples
    --------
    >>> with WorkerPool(1) as pool:
    ...     pool.submit("bife_core.workers.selftest:echo", {"value": 3}, limit_s=10).result()
    3
    """

    @checked
    def __init__(
        self, workers: int | None = None, pin: bool = True, measures: tuple[str, ...] = MEASURES
    ) -> None:
        cores = usable_cores()
        if workers is not None and workers < 1:
            raise ConfigError(f"A worker pool needs at least 1 worker, not {workers!r}.")
        self._workers = len(cores) if workers is None else workers
        # Each worker needs some files here, such as pipes; the usual limit of 1,024 is for old programs.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
        self._shared = _Shared(measures, memory_share_mb(self._workers))
        self._cores = [cores[i % len(cores)] if pin else None for i in range(self._workers)]
        # Holds only what threads share: a pool that is dropped or open at exit must not leave processes behind.
        self._finalizer = weakref.finalize(self, self._shared.shut)

    @property
    def workers(self) -> int:
        """Workers at most."""
        return self._workers

    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls, see `Workers`; a worker that may write more than they need is replaced before them."""
        package_of(call)
        try:
            json.dumps(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise WorkerFailure("error", f"The arguments of {call} must be plain JSON: {error}.") from error
        reads, writes = directories_of(allowed.get("reads", ())), directories_of(allowed.get("writes", ()))
        limits = (allowed["limit_s"], allowed.get("memory_mb"), reads, writes)
        processes = allowed.get("processes", False)
        tasks = tuple(_Task(Future(), call, keywords, *limits, processes) for keywords in arguments)
        shared = self._shared
        with shared.lock:
            if shared.closed:
                raise WorkerFailure("closed", f"{call} cannot run because its worker pool is closed.")
            shared.queue.put(tasks)
            shared.unfinished += 1
            if len(shared.threads) < min(self._workers, shared.unfinished):
                shared.threads.append(_Thread(shared, self._cores[len(shared.threads)]))
                shared.threads[-1].start()
        return [task.future for task in tasks]

    def close(self) -> None:
        """Stop at once, see `Workers`."""
        self._finalizer()
        for thread in self._shared.threads:
            if thread is not threading.current_thread():
                thread.join()


@dataclass
class _Shared:
    """What the threads of a pool share; without a reference to the pool, which may be collected."""

    measures: tuple[str, ...]
    memory_mb: float
    slots: CoreSlots = field(default_factory=CoreSlots)
    queue: SimpleQueue[tuple[_Task, ...] | None] = field(default_factory=SimpleQueue)
    threads: list[_Thread] = field(default_factory=list)
    readable: frozenset[Path] = frozenset()
    closed: bool = False
    unfinished: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def measures_of(self, task: _Task) -> tuple[str, ...]:
        """Return the measures for a task: one that may start processes needs their system calls."""
        return tuple(name for name in self.measures if name != "calls" or not task.processes)

    def shut(self) -> None:
        """Cancel what waits, kill what runs, and end all threads."""
        with self.lock:
            self.closed = True
            running = [thread.process for thread in self.threads if thread.process is not None]
        with suppress(Empty):  # the workers take from it too, so to look first would prove nothing
            while True:
                for task in self.queue.get_nowait() or ():
                    task.future.cancel()
        for _ in self.threads:
            self.queue.put(None)
        for process in running:
            process.kill()


class _Thread(threading.Thread):
    """Takes calls from the queue, for a worker that is replaced whenever it does not fit the next call."""

    def __init__(self, shared: _Shared, core: int | None) -> None:
        super().__init__(name=f"bife-worker-{len(shared.threads)}", daemon=True)
        self.shared = shared
        self.core = core
        self.process: WorkerProcess | None = None

    def run(self) -> None:
        shared, core = self.shared, self.core
        while (tasks := shared.queue.get()) is not None:
            # The calls of a batch are compared with one another, so the core is held over all of them.
            with ExitStack() as turn:
                slot = nullcontext() if core is None else shared.slots.hold(core, lambda: shared.closed)
                hold: Callable[[], int | None] = cache(partial(turn.enter_context, slot))
                for task in tasks:
                    resolve: Callable[[], object] = task.future.cancel
                    if not shared.closed and task.future.set_running_or_notify_cancel():
                        try:
                            resolve = partial(task.future.set_result, self._make(task, hold))
                        except WorkerFailure as failure:
                            resolve = partial(task.future.set_exception, failure)
                    if task is tasks[-1]:
                        turn.close()
                        with shared.lock:
                            shared.unfinished -= 1
                    resolve()
        self._end_process()

    def _make(self, task: _Task, hold: Callable[[], int | None]) -> Any:
        try:
            core = hold()
            limits = None if self.process is None else self.process.confinement
            # A worker can take a call if it may read what the call does, and write nothing else.
            if limits and not (
                task.reads <= set(limits.readable)
                and task.writes == set(limits.writable)
                and limits.measures == self.shared.measures_of(task)
            ):
                self._end_process()
            if self.process is None:
                self._start_process(core, task)
            elif core is not None:
                self.process.move(core)
            assert self.process is not None
            return self.process.ask(task.call, task.arguments, task.limit_s, task.memory_mb)
        except WorkerFailure as failure:
            if self.shared.closed and failure.kind != "error":
                raise WorkerFailure("closed", failure.reason, failure.detail) from failure
            raise
        except Exception as error:  # no disk left, say; the caller must hear of it, whatever it is
            reason = f"No worker process could make the call of {task.call}: {error}."
            raise WorkerFailure("unmade", reason, by_machine=True) from error
        finally:
            if self.process is not None and not self.process.clean:
                self._end_process()

    def _start_process(self, core: int | None, task: _Task) -> None:
        shared = self.shared
        with shared.lock:  # what one call reads others will too, and then need not replace the worker
            shared.readable |= task.reads
            # A process that a worker starts must find its own memory in use.
            readable = shared.readable | ({Path("/proc")} if task.processes else set())
        places = {"readable": tuple(sorted(readable)), "writable": tuple(sorted(task.writes))}
        limits = Confinement(measures=shared.measures_of(task), memory_mb=shared.memory_mb, **places)
        process = WorkerProcess(core, limits)
        with shared.lock:
            self.process = process
            closed = shared.closed
        if closed:  # the pool was closed while the process was starting and could not reach it
            process.kill()
        process.wait_ready(START_LIMIT_S)

    def _end_process(self) -> None:
        with self.shared.lock:
            process, self.process = self.process, None
        if process is not None:
            process.close()
