"""A worker as its parent sees it: started, asked, killed, its temporary directory removed."""

from __future__ import annotations

import builtins
import json
import os
import re
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped, unused-ignore]

from bife_core.base.places import compiled_code, usable
from bife_core.workers.base import WorkerFailure
from bife_core.workers.confinement import Confinement

MOST_ANSWER_BYTES: Final = 64 * 2**20
"""Largest answer; a worker that sends without end must not fill its parent's memory."""

_FROM_OUTSIDE: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)  # no fault of the process
_SCRATCH: Final = f"bife-worker-{socket.gethostname()}-"
_PATIENCE: Final = 10.0  # times its limit a call may last on the wall, if others were on its core meanwhile
_AT_WORK: Final = 0.03  # share of a core from which on a worker works; below, it waits for something
_KEPT: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM"
    r"|LD_LIBRARY_PATH|DYLD_\w+|SCIPOPTDIR|SYSTEMROOT|VIRTUAL_ENV|CONDA_\w+|XDG_\w+"
    r"|PYTHON\w+|NUMBA_\w+|BIFE_CACHE_DIR|BIFE_SANDBOX_READABLE|COVERAGE_\w+"
)
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SINGLE_THREADED: Final = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")


def worker_environment(parent: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """Return the part of an environment that Python, SCIP and LLVM need, without keys and passwords."""
    kept = {key: value for key, value in parent.items() if _KEPT.fullmatch(key) and not _SECRET.search(key)}
    # The child must import the very package its parent runs, installed or not.
    root = str(Path(__file__).resolve().parents[2])
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))
    kept |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}
    kept |= {f"{library}_NUM_THREADS": "1" for library in _SINGLE_THREADED} | {"VECLIB_MAXIMUM_THREADS": "1"}
    kept["BIFE_CACHE_DIR"] = str(usable(compiled_code()).parent)
    return kept | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))


class _Deadline:
    """The limit of a wait for a worker: processor time as far as others kept the worker from its core."""

    def __init__(self, name: str, limit_s: float, overdue: str, spent_before_s: float = 0.0) -> None:
        self.name = name
        self.overdue = overdue
        self._limit_s = limit_s
        self._spent_before_s = spent_before_s
        self._began_s = time.monotonic()
        self._deadline_s = self._began_s + limit_s

    def left_s(self, pid: int) -> float:
        """Return the seconds until the limit or the next look at it; 0 or less once it has passed."""
        now_s = time.monotonic()
        waited_s = now_s - self._began_s
        if now_s >= self._deadline_s and waited_s < _PATIENCE * self._limit_s:
            spent_s = cpu_seconds(pid) - self._spent_before_s
            if _AT_WORK * waited_s < spent_s < self._limit_s:
                self._deadline_s = now_s + self._limit_s - spent_s
        return self._deadline_s - now_s


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, 0 if it is gone."""
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


@cache
def _remove_abandoned() -> None:
    """Remove temporary directories of workers whose parent on this machine was killed, once per process."""
    for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*-*"):
        parent = path.name.removeprefix(_SCRATCH).partition("-")[0]
        if parent.isdigit() and not psutil.pid_exists(int(parent)):
            shutil.rmtree(path, ignore_errors=True)


class WorkerProcess:
    """A started worker, pinned to a core if any, used by one thread at a time; any thread may `kill` it."""

    def __init__(self, core: int | None, confinement: Confinement) -> None:
        self._lock = threading.Lock()
        self._killed = False
        self._core = core
        self._buffer = b""
        self.confinement = confinement
        self.clean = False
        _remove_abandoned()
        self._scratch = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-"))
        facts = {"parent": os.getpid(), "core": core, "confinement": confinement.model_dump(mode="json")}
        child_ends: dict[str, int] = {}
        self._pipes: dict[str, int] = {}
        try:
            for name in ("requests", "responses", "lifeline"):
                ends = os.pipe()
                child_ends[name], self._pipes[name] = ends if name != "responses" else ends[::-1]
            command = [sys.executable, "-P", "-m", "bife_core.workers.worker", json.dumps(child_ends | facts)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                pass_fds=tuple(child_ends.values()),
                env=worker_environment(os.environ, self._scratch),
                start_new_session=True,
            )
        except OSError as error:
            self._close_pipes()
            shutil.rmtree(self._scratch, ignore_errors=True)
            reason = f"A worker process could not be started: {error}."
            raise WorkerFailure("unmade", reason, by_machine=True) from error
        finally:
            for descriptor in child_ends.values():
                os.close(descriptor)
        self.pid = self._process.pid  # also the id of the process group
        self._output = b""
        self._drain = threading.Thread(target=self._keep_tail, name="bife-worker-output", daemon=True)
        self._drain.start()
        os.set_blocking(self._pipes["requests"], False)
        os.set_blocking(self._pipes["responses"], False)

    def move(self, core: int) -> None:
        """Pin the process to another core, where the system knows affinity."""
        if core != self._core and hasattr(os, "sched_setaffinity"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(self.pid, {core})
                self._core = core

    def wait_ready(self, limit_s: float) -> None:
        """Wait until the worker takes requests; raise `WorkerFailure` if it ends or takes more than `limit_s`."""
        overdue = f"A worker process was not ready {limit_s:g} s after its start; is the machine overloaded?"
        deadline = _Deadline("its start", limit_s, overdue)
        try:
            self._read_message(deadline, "ready")
        except WorkerFailure as failure:  # no call is in it yet that could be at fault
            raise WorkerFailure("unmade", failure.reason, failure.detail, by_machine=True) from failure
        self.clean = True

    def ask(
        self, call: str, arguments: dict[str, Any], limit_s: float, memory_mb: float | None = None
    ) -> Any:
        """Run one call and return its result, or raise `WorkerFailure`; `clean` then says if another may follow."""
        overdue = f"{call} was stopped at its limit of {limit_s:g} s."
        deadline = _Deadline(call, limit_s, overdue, cpu_seconds(self.pid))
        # Unpredictable, so that no answer left by an earlier call is taken for this one's.
        ticket = secrets.token_hex(8)
        facts = {"limit_s": limit_s, "memory_mb": memory_mb or self.confinement.memory_mb}
        request = {"call": call, "arguments": arguments, "ticket": ticket, **facts}
        self.clean = False
        self._write(json.dumps(request).encode() + b"\n", deadline)
        answer = self._read_message(deadline, "ticket")
        if answer["ticket"] != ticket:
            raise WorkerFailure("died", f"The worker process answered what it was not asked during {call}.")
        self.clean = answer.get("clean") is True and not self._buffer
        if answer.get("ok") is True and "result" in answer:
            return answer["result"]
        reason, detail, error_type = (str(answer.get(key, "")) for key in ("reason", "detail", "error_type"))
        builtin = getattr(builtins, error_type, None)
        by_machine = isinstance(builtin, type) and issubclass(builtin, OSError)
        raise WorkerFailure("error", reason, detail, error_type, by_machine)

    def kill(self) -> None:
        """End the process and its group, and wait until it is gone."""
        with self._lock:
            if self._killed:
                return
            self._killed = True
            strays: list[psutil.Process] = []
            with suppress(psutil.Error):
                strays = psutil.Process(self.pid).children(recursive=True)
            try:
                os.killpg(self.pid, signal.SIGKILL)
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
            shutil.rmtree(self._scratch, ignore_errors=True)

    def close(self) -> None:
        """Kill the process and release its pipes, from the thread that uses the worker."""
        self.kill()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for descriptor in self._pipes.values():
            os.close(descriptor)

    def _write(self, data: bytes, deadline: _Deadline) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._pipes["requests"], selectors.EVENT_WRITE, deadline)
            try:
                with suppress(BlockingIOError):
                    view = view[os.write(self._pipes["requests"], view[:65536]) :]
            except BrokenPipeError:
                raise self._lost(deadline) from None

    def _read_message(self, deadline: _Deadline, field: str) -> dict[str, Any]:
        parts, size = [self._buffer], len(self._buffer)
        while b"\n" not in parts[-1]:
            if size > MOST_ANSWER_BYTES:
                reason = f"The worker process sent more than an answer can hold during {deadline.name}."
                raise WorkerFailure("died", reason)
            self._wait(self._pipes["responses"], selectors.EVENT_READ, deadline)
            with suppress(BlockingIOError):
                part = os.read(self._pipes["responses"], 1 << 20)
                if not part:
                    raise self._lost(deadline)
                parts.append(part)
                size += len(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and field in message:
                return message
        reason = f"The worker process sent something that is no answer during {deadline.name}."
        raise WorkerFailure("died", reason, self._tail())

    def _wait(self, descriptor: int, event: int, deadline: _Deadline) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            while True:
                left = deadline.left_s(self.pid)
                if left <= 0:
                    raise WorkerFailure("timeout", deadline.overdue, self._tail())
                if selector.select(min(left, 0.25)):
                    return
                # A process the worker left behind can hold the pipe open, so its end is no sure sign.
                if self._process.poll() is not None:
                    raise self._lost(deadline)

    def _lost(self, deadline: _Deadline) -> WorkerFailure:
        was_killed = self._killed
        self.kill()
        code = self._process.returncode
        if code == -signal.SIGXCPU and not was_killed:  # its own limit, which is beyond the deadline
            return WorkerFailure("timeout", deadline.overdue, self._tail())
        how = f"ended with exit code {code}"
        if was_killed:
            how = "was stopped because its pool was closed"
        elif code < 0:
            how = f"was killed by {signal.Signals(-code).name if -code in set(signal.Signals) else -code}"
        reason = f"The worker process {how} during {deadline.name}."
        return WorkerFailure("died", reason, self._tail(), by_machine=-code in _FROM_OUTSIDE)

    def _keep_tail(self) -> None:
        assert self._process.stdout is not None
        while part := self._process.stdout.read(65536):
            self._output = (self._output + part)[-4000:]

    def _tail(self) -> str:
        return self._output.decode("utf-8", "replace").strip()
