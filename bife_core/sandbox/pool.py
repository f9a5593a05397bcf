"""A pool of persistent worker processes behind `concurrent.futures`."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Unpack

from bife_core.errors import ConfigError
from bife_core.sandbox.confinement import MEASURES, Confinement, directories_of, memory_share_mb
from bife_core.sandbox.cores import CoreSlots, usable_cores
from bife_core.sandbox.process import WorkerProcess
from bife_core.sandbox.workers import Allowed, WorkerFailure, Workers, well_formed

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


class WorkerPool(Workers):
    """Runs functions of `bife_core` in child processes with a hard limit on time.

    They stand behind the walls of `bife_core.sandbox.confinement`. Processes start when first needed and serve
    many calls. One that overruns a limit, or dies, is killed with its whole process group and replaced; the other
    workers do not notice. Results come back by future, so calls may be submitted from several threads.

    Parameters
    ----------
    workers : int or None
        Processes at most; None takes one per usable core.
    pin : bool
        Make each call on a core of its own, so that CPU times are comparable: worker i on the i-th usable core (round
        robin) or, where that is taken, on another. Waiting for one does not count against the limit of a call.
    slots : CoreSlots, optional
        Who else takes cores of their own; by default all of this user. Only with `pin`.
    measures : tuple of str
        What workers do to themselves (`bife_core.sandbox.confinement.MEASURES`); tests leave some out.

    Examples
    --------
    >>> with WorkerPool(1) as pool:
    ...     pool.submit("bife_core.sandbox.selftest:echo", {"value": 3}, limit_s=10).result()
    3
    """

    def __init__(
        self,
        workers: int | None = None,
        pin: bool = True,
        slots: CoreSlots | None = None,
        measures: tuple[str, ...] = MEASURES,
    ) -> None:
        cores = usable_cores()
        if workers is not None and workers < 1:
            raise ConfigError(f"A worker pool needs at least 1 worker, not {workers}.")
        self._workers = len(cores) if workers is None else workers
        self._state = _State(measures, memory_share_mb(self._workers), slots or CoreSlots())
        self._cores = [cores[i % len(cores)] if pin else None for i in range(self._workers)]
        self._threads: list[threading.Thread] = []
        # Holds only the state: a pool that is dropped or still open at exit must not leave processes behind.
        self._finalizer = weakref.finalize(self, self._state.shut, self._workers)

    @property
    def workers(self) -> int:
        """Processes at most."""
        return self._workers

    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls; see `Workers`. A worker that may write more than they need is replaced before them."""
        if not well_formed(call):
            raise WorkerFailure("error", f"A worker runs only 'bife_core.module:function', not {call!r}.")
        limit_s = allowed["limit_s"]
        if not limit_s > 0:
            raise WorkerFailure("error", f"The limit of {call} must be positive, not {limit_s!r} s.")
        try:
            json.dumps(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise WorkerFailure("error", f"The arguments of {call} must be plain JSON: {error}.") from error
        reads, writes = directories_of(allowed.get("reads", ())), directories_of(allowed.get("writes", ()))
        limits = (limit_s, allowed.get("memory_mb"), reads, writes)
        tasks = tuple(_Task(Future(), call, each, *limits) for each in arguments)
        with self._state.lock:
            if self._state.closed:
                raise WorkerFailure("closed", f"{call} cannot run because its worker pool is closed.")
            self._state.queue.put(tasks)
            self._state.unfinished += 1
            if len(self._threads) < min(self._workers, self._state.unfinished):
                self._add_thread()
        return [task.future for task in tasks]

    def close(self) -> None:
        """Stop at once; see `Workers`."""
        self._finalizer()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _add_thread(self) -> None:
        core = self._cores[len(self._threads)]
        name = f"bife-worker-{len(self._threads)}"
        thread = threading.Thread(target=self._state.serve, args=(core,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()


class _State:
    """What the threads of a pool share; it must not refer to the pool, which may be collected."""

    def __init__(self, measures: tuple[str, ...], memory_mb: float, slots: CoreSlots) -> None:
        self.measures = measures
        self.memory_mb = memory_mb
        self.slots = slots
        self.queue: SimpleQueue[tuple[_Task, ...] | None] = SimpleQueue()
        self.readable: frozenset[Path] = frozenset()
        self.lock = threading.Lock()
        self.closed = False
        self.unfinished = 0
        self.processes: set[WorkerProcess] = set()

    def shut(self, workers: int) -> None:
        """Cancel what waits, kill what runs, and have `workers` threads end."""
        with self.lock:
            self.closed = True
            running = list(self.processes)
        with suppress(Empty):  # the threads take from it too, so to look first would prove nothing
            while True:
                for task in self.queue.get_nowait() or ():
                    task.future.cancel()
        for _ in range(workers):
            self.queue.put(None)
        for process in running:
            process.kill()

    def serve(self, core: int | None) -> None:
        """Make the calls of the queue, one thread a worker."""
        process: WorkerProcess | None = None
        while (tasks := self.queue.get()) is not None:
            # Calls in turn are compared with one another, so the core is held over all of them.
            with ExitStack() as turn:
                slot = nullcontext() if core is None else self.slots.hold(core, lambda: self.closed)
                hold: Callable[[], int | None] = cache(partial(turn.enter_context, slot))
                for task in tasks:
                    wanted = not self.closed and task.future.set_running_or_notify_cancel()
                    answer, failure = None, None
                    if wanted:
                        process, answer, failure = self._ask(process, task, hold)
                    if task is tasks[-1]:
                        turn.close()
                        with self.lock:
                            self.unfinished -= 1
                    if not wanted:
                        task.future.cancel()
                    elif failure is None:
                        task.future.set_result(answer)
                    else:
                        task.future.set_exception(failure)
        if process is not None:
            self._release(process)

    def _ask(
        self, process: WorkerProcess | None, task: _Task, hold: Callable[[], int | None]
    ) -> tuple[WorkerProcess | None, Any, WorkerFailure | None]:
        """Make one call, in a new process if there is none; return the process for the next call, or None."""
        try:
            core = hold()
            if process is not None and not _fits(process.confinement, task):
                self._release(process)
                process = None
            if process is None:
                process = WorkerProcess(core, self._confinement(task))
                self._register(process)
                process.wait_ready(START_LIMIT_S)
            elif core is not None:
                process.move(core)
            answer, failure = process.ask(task.call, task.arguments, task.limit_s, task.memory_mb), None
        except WorkerFailure as error:
            answer, failure = None, error
        except Exception as error:  # noqa: BLE001 - no disk left, say; the caller must hear of it, whatever it is
            reason = f"The worker process for {task.call} failed: {error}."
            answer, failure = None, WorkerFailure("died", reason, by_machine=True)
        if process is not None and not process.clean:
            self._release(process)
            process = None
        if self.closed and failure is not None and failure.kind != "error":
            failure = WorkerFailure("closed", failure.reason, failure.detail)
        return process, answer, failure

    def _confinement(self, task: _Task) -> Confinement:
        # What one call reads others will too, so a worker started now need not be replaced for those.
        with self.lock:
            self.readable |= task.reads
            readable = self.readable
        return Confinement(
            measures=self.measures,
            memory_mb=self.memory_mb,
            readable=tuple(sorted(readable)),
            writable=tuple(sorted(task.writes)),
        )

    def _register(self, process: WorkerProcess) -> None:
        with self.lock:
            self.processes.add(process)
            closed = self.closed
        if closed:  # the pool was closed while the process was starting and could not reach it
            process.kill()

    def _release(self, process: WorkerProcess) -> None:
        with self.lock:
            self.processes.discard(process)
        process.close()


def _fits(may: Confinement, task: _Task) -> bool:
    """Tell whether a worker can take a call: it may read what the call does, and write nothing else."""
    return task.reads <= set(may.readable) and task.writes == set(may.writable)
