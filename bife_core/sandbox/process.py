"""One worker process as its parent sees it: start it, ask it, kill it."""

from __future__ import annotations

import builtins
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any, Final

import psutil  # type: ignore[import-untyped, unused-ignore]

from bife_core.sandbox.environment import worker_environment
from bife_core.sandbox.failure import WorkerFailure
from bife_core.sandbox.limits import Confinement
from bife_core.sandbox.scratch import Scratch

_TAIL_BYTES: Final = 4000
_LIVENESS_S: Final = 0.25

MOST_OUTPUT_BYTES: Final = 64 * 2**20
"""What a call may print before its worker is stopped; nobody reads more than the last lines."""

MOST_ANSWER_BYTES: Final = 64 * 2**20
"""How long an answer may be; a worker that sends without end must not fill its parent's memory."""

_FROM_OUTSIDE: Final = ("SIGKILL", "SIGTERM", "SIGHUP")
"""Signals that a process does not get by a fault of its own: the system or a person ended it."""


_PATIENCE: Final = 10.0
"""How many times its limit a call may last on the wall, if others were on its core meanwhile."""

_AT_WORK: Final = 0.03
"""Share of a core from which on a worker works, however little of it others leave; below, it waits for something."""


class _Errand:
    """What is being waited for, until when, and how to speak of it.

    Parameters
    ----------
    limit_s : float
        Seconds it may take, of processor time as far as others kept the worker from its core.
    spent_s : float
        Processor time the worker had spent before.
    """

    def __init__(self, name: str, limit_s: float, overdue: str, spent_s: float = 0.0) -> None:
        self.name = name
        self.overdue = overdue
        self._limit_s = limit_s
        self._spent_before_s = spent_s
        self._began_s = time.monotonic()
        self._deadline_s = self._began_s + limit_s

    def left_s(self, pid: int) -> float:
        """Return the seconds until it is overdue, or is to be looked at again; 0 or less once it is overdue.

        A busy machine is no fault of a call: what the worker did not get of its limit it gets later.
        """
        now_s = time.monotonic()
        waited_s = now_s - self._began_s
        if now_s >= self._deadline_s and waited_s < _PATIENCE * self._limit_s:
            spent_s = cpu_seconds(pid) - self._spent_before_s
            if _AT_WORK * waited_s < spent_s < self._limit_s:
                self._deadline_s = now_s + self._limit_s - spent_s
        return self._deadline_s - now_s


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, 0 of one that is gone."""
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


class WorkerProcess:
    """A started child process, used by one thread at a time; `kill` may come from any thread.

    Parameters
    ----------
    core : int or None
        The core to pin it to.
    confinement : Confinement
        What it may do.

    Raises
    ------
    WorkerFailure
        If the system cannot start a process.
    """

    def __init__(self, core: int | None, confinement: Confinement) -> None:
        self._lock = threading.Lock()
        self._killed = False
        self._core = core
        self._buffer = b""
        self._printed = 0
        self.confinement = confinement
        self.in_force: dict[str, str] = {}
        self.clean = False
        scratch = Scratch()
        self._scratch = scratch
        child_requests, self._requests = os.pipe()
        self._responses, child_responses = os.pipe()
        child_lifeline, self._lifeline = os.pipe()
        child_ends = (child_requests, child_responses, child_lifeline)
        names = ("--requests", "--responses", "--lifeline")
        command = [sys.executable, "-P", "-m", "bife_core.sandbox.worker"]
        for name, descriptor in zip(names, child_ends, strict=True):
            command += [name, str(descriptor)]
        command += ["--parent", str(os.getpid()), "--confinement", confinement.model_dump_json()]
        if core is not None:
            command += ["--core", str(core)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                pass_fds=(*child_ends, scratch.lock),
                env=worker_environment(os.environ, scratch.path),
                start_new_session=True,
            )
        except OSError as error:
            for descriptor in (self._requests, self._responses, self._lifeline):
                os.close(descriptor)
            scratch.remove()
            reason = f"A worker process could not be started: {error}."
            raise WorkerFailure("died", reason, by_machine=True) from error
        finally:
            for descriptor in child_ends:
                os.close(descriptor)
        self._output: deque[bytes] = deque()
        self._drain = threading.Thread(target=self._keep_tail, name="bife-worker-output", daemon=True)
        self._drain.start()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._responses, False)

    @property
    def pid(self) -> int:
        """Process id, also the id of the process group."""
        return self._process.pid

    def move(self, core: int) -> None:
        """Pin the process to another core; a system without affinity, or a process that is gone, is left alone."""
        if core == self._core or not hasattr(os, "sched_setaffinity"):
            return
        with suppress(ProcessLookupError):
            os.sched_setaffinity(self._process.pid, {core})
            self._core = core

    def wait_ready(self, limit_s: float) -> None:
        """Wait until the child takes requests.

        Raises
        ------
        WorkerFailure
            If it is not ready within `limit_s` seconds, or ended before.
        """
        overdue = f"A worker process was not ready {limit_s:g} s after its start; is the machine overloaded?"
        errand = _Errand("its start", limit_s, overdue)
        try:
            self.in_force = dict(self._understood(self._read_line(errand), errand, "in_force")["in_force"])
        except WorkerFailure as failure:
            # No call is in it yet that could be at fault.
            raise WorkerFailure("died", failure.reason, failure.detail, by_machine=True) from failure
        self.clean = True

    def ask(
        self, call: str, arguments: dict[str, Any], limit_s: float, memory_mb: float | None = None
    ) -> Any:
        """Run one call and return its result.

        Afterwards `clean` tells whether the worker can be asked again.

        Raises
        ------
        WorkerFailure
            If the limit passed, the process was lost (it must be killed and replaced in both cases), or the
            call raised (`kind` is ``"error"``, and the process can go on if it is clean).
        """
        overdue = f"{call} was stopped at its limit of {limit_s:g} s."
        errand = _Errand(call, limit_s, overdue, cpu_seconds(self.pid))
        self._printed = 0
        # What is sent cannot be known beforehand: an answer left by an earlier call is never taken for this one's.
        ticket = secrets.token_hex(8)
        facts = {"limit_s": limit_s, "memory_mb": memory_mb or self.confinement.memory_mb}
        request = {"call": call, "arguments": arguments, "ticket": ticket, **facts}
        self.clean = False
        self._write(json.dumps(request).encode() + b"\n", errand)
        answer = self._understood(self._read_line(errand), errand, "ticket")
        if answer["ticket"] != ticket:
            raise WorkerFailure("died", f"The worker process answered what it was not asked during {call}.")
        self.clean = answer.get("clean") is True and not self._buffer
        if answer.get("ok") is True and "result" in answer:
            return answer["result"]
        reason, detail, error_type = (
            str(answer.get(name, "")) for name in ("reason", "detail", "error_type")
        )
        raise WorkerFailure("error", reason, detail, error_type, by_machine=_is_os_error(error_type))

    def has_spoken(self) -> bool:
        """Tell whether the worker sent something nobody asked for, which makes it unfit for another call."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._responses, selectors.EVENT_READ)
            return bool(selector.select(0))

    def kill(self) -> None:
        """End the process and its group, and wait until it is gone."""
        with self._lock:
            if self._killed:
                return
            self._killed = True
            strays: list[psutil.Process] = []
            with suppress(psutil.Error):
                strays = psutil.Process(self._process.pid).children(recursive=True)
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the whole group ended by itself
            except PermissionError:  # macOS answers so for a group of zombies
                self._process.kill()
            for stray in strays:  # one that left the group, where no filter of system calls kept it from that
                with suppress(psutil.Error):
                    stray.kill()
            self._process.wait()
            self._drain.join(timeout=1.0)
            if not self._drain.is_alive() and self._process.stdout is not None:
                self._process.stdout.close()
            self._scratch.remove()

    def close(self) -> None:
        """Kill the process and release its pipes; only the thread that uses the worker may call this."""
        self.kill()
        for descriptor in (self._requests, self._responses, self._lifeline):
            os.close(descriptor)

    def _write(self, data: bytes, errand: _Errand) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._requests, selectors.EVENT_WRITE, errand)
            try:
                view = view[os.write(self._requests, view[:65536]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._lost(errand) from None

    def _read_line(self, errand: _Errand) -> bytes:
        parts, size = [self._buffer], len(self._buffer)
        while b"\n" not in parts[-1]:
            if size > MOST_ANSWER_BYTES:
                raise WorkerFailure(
                    "died", f"The worker process sent more than an answer can hold during {errand.name}."
                )
            self._wait(self._responses, selectors.EVENT_READ, errand)
            try:
                part = os.read(self._responses, 1 << 20)
            except BlockingIOError:
                continue
            if not part:
                raise self._lost(errand)
            parts.append(part)
            size += len(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line

    def _understood(self, line: bytes, errand: _Errand, field: str) -> dict[str, Any]:
        """Return a message that has a field; whatever a broken worker sends, the parent only says so."""
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and field in message:
                return message
        reason = f"The worker process sent something that is no answer during {errand.name}."
        raise WorkerFailure("died", reason, self._tail())

    def _wait(self, descriptor: int, event: int, errand: _Errand) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            while True:
                left = errand.left_s(self.pid)
                if left <= 0:
                    raise WorkerFailure("timeout", errand.overdue, self._tail())
                if selector.select(min(left, _LIVENESS_S)):
                    return
                if self._printed > MOST_OUTPUT_BYTES:
                    raise WorkerFailure(
                        "died",
                        f"{errand.name} was stopped because it printed more than {MOST_OUTPUT_BYTES >> 20} MB.",
                    )
                # A process the worker left behind can hold the pipe open, so its end is no sure sign.
                if self._process.poll() is not None:
                    raise self._lost(errand)

    def _lost(self, errand: _Errand) -> WorkerFailure:
        was_killed = self._killed
        self.kill()
        code = self._process.returncode
        by_machine = False
        if code == -signal.SIGXCPU and not was_killed:
            # The worker's own limit on CPU time is beyond the errand's: the errand was overdue before anyone looked.
            return WorkerFailure("timeout", errand.overdue, self._tail())
        if code < 0:
            try:
                name = signal.Signals(-code).name
                how, by_machine = f"was killed by {name}", name in _FROM_OUTSIDE
            except ValueError:
                how = f"was killed by signal {-code}"
        else:
            how = f"ended with exit code {code}"
        if was_killed:
            how = "was stopped because its pool was closed"
        reason = f"The worker process {how} during {errand.name}."
        return WorkerFailure("died", reason, self._tail(), by_machine=by_machine)

    def _keep_tail(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        size = 0
        while part := stream.read(65536):
            self._output.append(part)
            size += len(part)
            self._printed += len(part)
            if self._printed > MOST_OUTPUT_BYTES:
                time.sleep(0.01)  # its pipe is full now and then, until the thread that waits for it stops it
            while size - len(self._output[0]) > _TAIL_BYTES:
                size -= len(self._output.popleft())

    def _tail(self) -> str:
        text = b"".join(tuple(self._output))[-_TAIL_BYTES:].decode("utf-8", "replace")
        return text.strip()


def _is_os_error(error_type: str) -> bool:
    known = getattr(builtins, error_type, None)
    return isinstance(known, type) and issubclass(known, OSError)
