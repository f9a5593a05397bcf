"""The workers that all tasks of this process share, of this machine or of a Dask cluster."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from pydantic import Field

from bife_core.base.errors import ConfigError
from bife_core.base.values import Value
from bife_core.workers import Allowed, FailureKind, WorkerFailure, WorkerPool, Workers


class RunnerConfig(Value):
    """Where solves and scores run, and how many at once; the rules found do not depend on it."""

    address: str | None = Field(
        None,
        description="Dask scheduler, such as tcp://head:8786, whose machines share the home's folder; None is this "
        "machine.",
    )
    workers: int | None = Field(
        None, ge=1, description="Solver processes of this machine, one pinned per core; none uses all cores."
    )


_HERE = RunnerConfig()
_lock = threading.Lock()
_pools: dict[RunnerConfig, Workers] = {}


class DaskPool(Workers):
    """Sends calls to a Dask cluster, each of whose machines makes them in its own `WorkerPool`."""

    remote = True

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ConfigError(
                "runner.address needs the package distributed, which is not installed; install the extra dask on "
                "every machine."
            ) from error
        logging.getLogger("distributed").setLevel(logging.WARNING)
        self._closed = False
        try:
            self._client = Client(address, timeout=60, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"No Dask scheduler answers at {address} ({error}); check runner.address."
            ) from error

    @property
    def workers(self) -> int:
        """Threads of the cluster at present, at least 1."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls, see `Workers`; their results come together."""
        if self._closed:
            raise WorkerFailure("closed", f"{call} cannot run because its worker pool is closed.")
        limits: dict[str, Any] = dict(allowed)
        limits |= {k: [str(path) for path in limits.get(k, ())] for k in ("reads", "writes")}
        promised: list[Future[Any]] = [Future() for _ in arguments]
        sent = self._client.submit(perform, call, list(arguments), limits, pure=False)
        sent.add_done_callback(partial(self._arrived, call, promised))
        return promised

    def close(self) -> None:
        """Disconnect from the cluster."""
        self._closed = True
        self._client.close()

    def _arrived(self, call: str, promised: list[Future[Any]], sent: Any) -> None:
        try:
            answers = sent.result()
        except (CancelledError, Exception) as error:  # noqa: BLE001 - Dask has errors of its own
            kind: FailureKind = "closed" if self._closed or isinstance(error, CancelledError) else "died"
            reason = (str(error).splitlines() or [""])[0]
            lost = f"The worker that ran {call} was lost ({type(error).__name__}: {reason})."
            answers = [WorkerFailure(kind, lost, by_machine=True)] * len(promised)
        for future, answer in zip(promised, answers, strict=True):
            if not future.set_running_or_notify_cancel():
                continue
            if isinstance(answer, WorkerFailure):
                future.set_exception(answer)
            else:
                future.set_result(answer[0])


def perform(
    call: str, arguments: list[dict[str, Any]], allowed: dict[str, Any]
) -> list[tuple[Any] | WorkerFailure]:
    """Make calls in one worker of this machine; return for each a tuple of its result, or its failure."""
    places: Any = allowed | {k: [Path(path) for path in allowed[k]] for k in ("reads", "writes")}
    answers: list[tuple[Any] | WorkerFailure] = []
    for future in worker_pool().submit_batch(call, arguments, **places):
        try:
            answers.append((future.result(),))
        except WorkerFailure as error:
            answers.append(error)
    return answers


def worker_pool(runner: RunnerConfig = _HERE) -> Workers:
    """Return the shared pool of a runner, opened on first use; raise `ConfigError` if Dask cannot be reached."""
    with _lock:
        if runner not in _pools:
            _pools[runner] = DaskPool(runner.address) if runner.address else WorkerPool(runner.workers)
        return _pools[runner]


def close_workers() -> None:
    """Close all pools; a later task opens new ones."""
    with _lock:
        while _pools:
            _pools.popitem()[1].close()


atexit.register(close_workers)
