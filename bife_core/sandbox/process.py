"""One worker process as its parent sees it: start it, ask it, kill it."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from bife_core.sandbox.environment import worker_environment
from bife_core.sandbox.failure import WorkerFailure

_TAIL_BYTES: Final = 4000
_LIVENESS_S: Final = 0.25


class _Errand(NamedTuple):
    """What is being waited for: until when (monotonic seconds), and how to speak of it."""

    name: str
    deadline: float
    overdue: str


class WorkerProcess:
    """A started child process, used by one thread at a time; `kill` may come from any thread.

    Parameters
    ----------
    core : int or None
        The core to pin it to.

    Raises
    ------
    WorkerFailure
        If the system cannot start a process.
    """

    def __init__(self, core: int | None) -> None:
        self._lock = threading.Lock()
        self._killed = False
        self._core = core
        self._buffer = b""
        self.temporary = Path(tempfile.mkdtemp(prefix="bife-worker-"))
        child_requests, self._requests = os.pipe()
        self._responses, child_responses = os.pipe()
        child_lifeline, self._lifeline = os.pipe()
        child_ends = (child_requests, child_responses, child_lifeline)
        names = ("--requests", "--responses", "--lifeline")
        command = [sys.executable, "-P", "-m", "bife_core.sandbox.worker"]
        for name, descriptor in zip(names, child_ends, strict=True):
            command += [name, str(descriptor)]
        if core is not None:
            command += ["--core", str(core)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                pass_fds=child_ends,
                env=worker_environment(os.environ, self.temporary),
                start_new_session=True,
            )
        except OSError as error:
            for descriptor in (self._requests, self._responses, self._lifeline):
                os.close(descriptor)
            shutil.rmtree(self.temporary, ignore_errors=True)
            raise WorkerFailure("died", f"A worker process could not be started: {error}.") from error
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
            If it is not ready within `limit_s` wall seconds, or ended before.
        """
        overdue = f"A worker process was not ready {limit_s:g} s after its start; is the machine overloaded?"
        self._read_line(_Errand("its start", time.monotonic() + limit_s, overdue))

    def ask(self, call: str, arguments: dict[str, Any], limit_s: float) -> Any:
        """Run one call and return its result.

        Raises
        ------
        WorkerFailure
            If the limit passed, the process was lost (it must be killed and replaced in both cases), or the
            call raised (`kind` is ``"error"``, and the process can go on).
        """
        overdue = f"{call} was stopped at its limit of {limit_s:g} s."
        errand = _Errand(call, time.monotonic() + limit_s, overdue)
        self._write(json.dumps({"call": call, "arguments": arguments}).encode() + b"\n", errand)
        answer = json.loads(self._read_line(errand))
        if answer["ok"]:
            return answer["result"]
        raise WorkerFailure("error", answer["reason"], answer["detail"], answer["error_type"])

    def kill(self) -> None:
        """End the process and its group, and wait until it is gone."""
        with self._lock:
            if self._killed:
                return
            self._killed = True
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the whole group ended by itself
            except PermissionError:  # macOS answers so for a group of zombies
                self._process.kill()
            self._process.wait()
            self._drain.join(timeout=1.0)
            if not self._drain.is_alive() and self._process.stdout is not None:
                self._process.stdout.close()
            shutil.rmtree(self.temporary, ignore_errors=True)

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
        parts = [self._buffer]
        while b"\n" not in parts[-1]:
            self._wait(self._responses, selectors.EVENT_READ, errand)
            try:
                part = os.read(self._responses, 1 << 20)
            except BlockingIOError:
                continue
            if not part:
                raise self._lost(errand)
            parts.append(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line

    def _wait(self, descriptor: int, event: int, errand: _Errand) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            while True:
                left = errand.deadline - time.monotonic()
                if left <= 0:
                    raise WorkerFailure("timeout", errand.overdue, self._tail())
                if selector.select(min(left, _LIVENESS_S)):
                    return
                # A process the worker left behind can hold the pipe open, so its end is no sure sign.
                if self._process.poll() is not None:
                    raise self._lost(errand)

    def _lost(self, errand: _Errand) -> WorkerFailure:
        was_killed = self._killed
        self.kill()
        code = self._process.returncode
        if code < 0:
            try:
                how = f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                how = f"was killed by signal {-code}"
        else:
            how = f"ended with exit code {code}"
        if was_killed:
            how = "was stopped because its pool was closed"
        return WorkerFailure("died", f"The worker process {how} during {errand.name}.", self._tail())

    def _keep_tail(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        size = 0
        while part := stream.read(65536):
            self._output.append(part)
            size += len(part)
            while size - len(self._output[0]) > _TAIL_BYTES:
                size -= len(self._output.popleft())

    def _tail(self) -> str:
        text = b"".join(tuple(self._output))[-_TAIL_BYTES:].decode("utf-8", "replace")
        return text.strip()
