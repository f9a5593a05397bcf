"""The interface of all workers, how a call fails, and `InProcess`, which needs no worker process."""

from __future__ import annotations

import importlib
import json
import re
import signal
import threading
import traceback
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Required, Self, TypedDict, Unpack

from bife_core.base.errors import BifeError, InterruptedSolveError
from bife_core.base.plugins import plugin_packages

FailureKind = Literal["timeout", "died", "error", "unmade", "closed"]
"""Killed at its limit; gone without an answer; the call raised; no worker could start; the pool was closed."""

Note = Callable[[str], None]
"""Receives a sentence for the user; called from any thread."""

_CALL: Final = re.compile(r"([A-Za-z]\w*)(?:\.[A-Za-z]\w*)+:[A-Za-z]\w*")
_DETAIL_LINES: Final = 12


@dataclass(eq=False)
class WorkerFailure(BifeError):  # noqa: N818 - the noun its callers branch on
    """A call in a worker gave no result.

    `reason` is one sentence, `detail` the traceback of the call or the last output of a lost worker, `error_type` the
    class of the exception that the call raised. `by_machine` says that the machine may be the cause: a process or file
    could not be opened, or something other than the pool killed the worker.
    """

    kind: FailureKind
    reason: str
    detail: str = ""
    error_type: str = ""
    by_machine: bool = False

    def __str__(self) -> str:
        return self.reason


class Allowed(TypedDict, total=False):
    """Limits and files of calls.

    `limit_s` are wall seconds of each call, without the wait for a worker; `memory_mb` is its address space, by default
    a worker's share of the memory. `reads` and `writes` are folders, or files, with the folders they lie in. A call
    with `processes` may start some, which its worker then confines itself.
    """

    limit_s: Required[float]
    memory_mb: float | None
    reads: Iterable[Path]
    writes: Iterable[Path]
    processes: bool


class Workers(ABC):
    """Runs functions of `bife_core`, or of packages that offer plugins, in workers; a context manager."""

    remote: ClassVar[bool] = False
    """Whether calls may run on another machine than this one."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Calls that run at once."""

    @abstractmethod
    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Queue calls that one worker makes one after the other, on one core, whether earlier ones fail or not.

        `call` is ``"package.module:function"``, `arguments` are the keyword arguments of each call. They and their
        results pass through JSON. A future's exception is a `WorkerFailure`, raised at once if the workers are closed.
        """

    def submit(
        self, call: str, arguments: dict[str, Any], *, note: Note | None = None, **allowed: Unpack[Allowed]
    ) -> Future[Any]:
        """Queue one call as `submit_batch` does; repeat it once, after a `note`, if its worker is lost."""
        promised: Future[Any] = Future()
        reference = weakref.ref(self)  # a pool that its user drops ends, whatever runs in it

        def send(workers: Workers, repeats: int) -> None:
            (answer,) = workers.submit_batch(call, [arguments], **allowed)
            promised.add_done_callback(lambda _: answer.cancel() if promised.cancelled() else None)
            answer.add_done_callback(partial(arrived, repeats))

        def arrived(repeats: int, answer: Future[Any]) -> None:
            failure = None if answer.cancelled() else answer.exception()
            lost = isinstance(failure, WorkerFailure) and failure.kind in ("died", "unmade")
            if lost and repeats and not promised.cancelled() and (workers := reference()) is not None:
                if note is not None:
                    note(f"{failure} It is repeated.")
                try:
                    send(workers, repeats - 1)
                    return
                except WorkerFailure as closed:
                    failure = closed
            if answer.cancelled():
                promised.cancel()
            if promised.set_running_or_notify_cancel():
                if failure is None:
                    promised.set_result(answer.result())
                else:
                    promised.set_exception(failure)

        send(self, 1)  # losing a process once is an accident, twice is the call's own doing
        return promised

    @abstractmethod
    def close(self) -> None:
        """Cancel queued calls and kill running ones at once; no process stays behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Workers):
    """Makes one call at a time in this process, without limits and sandbox: for trusted rules, in a debugger."""

    workers = 1

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._closed = False
        self._interrupts = 0

    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Make calls, and return futures that are done."""
        if self._closed:
            raise WorkerFailure("closed", "These workers were closed; open others.")
        return [self._made(call, keywords) for keywords in arguments]

    def close(self) -> None:
        """Refuse further calls."""
        self._closed = True

    def _made(self, call: str, arguments: dict[str, Any]) -> Future[Any]:
        promised: Future[Any] = Future()
        interrupts = self._interrupts
        try:
            with self._one_at_a_time:
                if self._interrupts > interrupts:  # while it waited
                    raise InterruptedSolveError
                # Through JSON, as to a worker: what works here works there.
                result = json.loads(json.dumps(resolve(call)(**json.loads(json.dumps(arguments)))))
        except InterruptedSolveError as error:  # SCIP takes Ctrl-C itself
            if self._interrupts == interrupts:
                self._interrupts += 1
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            raise WorkerFailure("closed", f"{call} was interrupted.") from error
        except Exception as error:  # noqa: BLE001 - a worker process would report any too
            reason, detail = describe_exception(error)
            by_machine = isinstance(error, OSError | MemoryError)
            promised.set_exception(WorkerFailure("error", reason, detail, type(error).__name__, by_machine))
        else:
            promised.set_result(result)
        return promised


def package_of(call: str) -> str:
    """Return the package of a call; raise `WorkerFailure` unless it is `bife_core` or offers plugins."""
    form = _CALL.fullmatch(call)
    if form is None or (form[1] != "bife_core" and form[1] not in plugin_packages()):
        expected = "'package.module:function' of bife_core or of a package with an entry point of bife.*"
        raise WorkerFailure("error", f"A worker runs only {expected}, not {call!r}.")
    return form[1]


def resolve(call: str) -> Callable[..., Any]:
    """Return the function of a call; raise `BifeError` if the call's package does not define it."""
    package = package_of(call)
    module, _, name = call.partition(":")
    function: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    written_in = getattr(function, "__module__", None) or ""
    if not callable(function) or written_in.partition(".")[0] != package:
        raise BifeError(f"A worker cannot run {call!r}: {module} defines no function {name!r}.")
    return function


def describe_exception(error: BaseException) -> tuple[str, str]:
    """Return one sentence about an exception and its trimmed traceback."""
    detail = "".join(traceback.format_exception(error)).splitlines()
    if len(detail) > _DETAIL_LINES:
        detail = [detail[0], "  ...", *detail[-(_DETAIL_LINES - 2) :]]
    sentence, name = " ".join(str(error).split()), type(error).__name__
    if not isinstance(error, BifeError):
        sentence = f"{name}: {sentence}" if sentence else f"{name} was raised."
    return sentence, "\n".join(detail)
