"""Small calls with known behaviour: `bife doctor` and the tests send them through a pool.

Each misbehaves in one way a generated rule or a solver can.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

from bife_core.errors import RuleError
from bife_core.sandbox.confinement import in_force


def echo(value: Any) -> Any:
    """Return `value` unchanged."""
    return value


def describe() -> dict[str, Any]:
    """Return what the worker sees of the world: process id, cores, environment, directory, measures."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {
        "pid": os.getpid(),
        "group": os.getpgid(0),
        "cores": cores,
        "environment": dict(os.environ),
        "directory": os.getcwd(),  # noqa: PTH109 - compared as text with the parent's
        "in_force": in_force(),
    }


def burn(seconds: float) -> float:
    """Keep one core busy and return the CPU seconds used."""
    start = time.process_time()
    x = 0.5
    while time.process_time() - start < seconds:
        x = 3.9 * x * (1.0 - x)
    return time.process_time() - start


def pause(seconds: float) -> float:
    """Sleep and return the seconds asked for."""
    time.sleep(seconds)
    return seconds


def hold_lock(seconds: float) -> int:
    """Sleep without letting any other thread of the worker run, as a stuck native call can."""
    return int(ctypes.PyDLL(None).usleep(int(min(seconds, 4000.0) * 1e6)))


def shout(megabytes: int) -> int:
    """Print much to both streams, past Python's own buffers too."""
    line = b"x" * 1023 + b"\n"
    for _ in range(megabytes * 512):
        os.write(1, line)
        os.write(2, line)
    print("done shouting")
    return megabytes


_kept: list[bytearray] = []


def hoard(megabytes: int) -> int:
    """Keep memory after the call, as compiled rules and a heap in pieces do."""
    _kept.append(bytearray(b"x") * (megabytes << 20))
    return megabytes


def fail(message: str, known: bool = False) -> None:
    """Raise a `RuleError` (known) or a ValueError with the message."""
    if known:
        raise RuleError(message)
    raise ValueError(message)


def leave(code: int) -> None:
    """End the process without an answer."""
    print("leaving early", file=sys.stderr)
    os._exit(code)


def die(by: str = "SIGKILL") -> None:
    """End at once by a signal, as the out-of-memory killer or a limit on CPU time would have it."""
    os.kill(os.getpid(), signal.Signals[by])


def spawn_and_hang(pid_file: str, own_session: bool = False) -> None:
    """Start a process that sleeps, perhaps outside this one's group, note its id, then never return."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleep, start_new_session=own_session)
    with open(pid_file, "w", encoding="utf-8") as file:  # noqa: PTH123 - the name arrives as JSON text
        file.write(str(child.pid))
    while True:
        time.sleep(60)


def unserialisable() -> Any:
    """Return what JSON cannot hold."""
    return {1, 2, 3}


def run_unchecked(source: str) -> Any:
    """Run any Python text and return what it leaves in `result`.

    The tests' way past the first two walls: only here does text run that nothing has checked, and only the third
    wall, the worker itself, stands in its way.
    """
    scope: dict[str, Any] = {"result": None}
    exec(compile(source, "<unchecked>", "exec"), scope)
    return scope["result"]
