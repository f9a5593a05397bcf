"""What a generated rule or a solver can do to a worker, as functions whose text is sent there and run unchecked.

A worker runs functions of `bife_core` only; `bife_core.workers.selftest:run_unchecked` is the tests' way in.
"""

import ctypes
import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bife_core.base.errors import RuleError

RUN = "bife_core.workers.selftest:run_unchecked"

_HEAD = """
import ctypes, os, signal, subprocess, sys, time
from bife_core.base.errors import RuleError
"""


def text_of(function, **arguments):
    """Return the arguments of `RUN` that have a function of this module called in a worker."""
    call = f"result = {function.__name__}(**{arguments!r})"
    return {"source": f"{_HEAD}\n{inspect.getsource(function)}\n{call}\n"}


def gone(pid, seconds=5.0):
    """Wait some seconds for the end of a process, and tell whether it came; one not yet reaped has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in ("Z", "X"):
            return True
        time.sleep(0.02)
    return False


def burn(seconds):
    """Keep one core busy and return the CPU seconds used."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return time.process_time() - start


def hold_lock(seconds):
    """Sleep without letting any other thread of the worker run, as a stuck native call can."""
    return int(ctypes.PyDLL(None).usleep(int(min(seconds, 4000.0) * 1e6)))


def shout(megabytes):
    """Print much to both streams, past Python's own buffers too."""
    line = b"x" * 1023 + b"\n"
    for _ in range(megabytes * 512):
        os.write(1, line)
        os.write(2, line)
    print("done shouting")
    return megabytes


def hoard(megabytes):
    """Keep memory after the call, as compiled rules and a heap in pieces do."""
    sys.modules[f"hoard {time.monotonic_ns()}"] = bytearray(b"x") * (megabytes << 20)
    return megabytes


def fail(message, known=False):
    """Raise a `RuleError` (known) or a ValueError with the message."""
    if known:
        raise RuleError(message)
    raise ValueError(message)


def leave(code):
    """End the process without an answer."""
    print("leaving early", file=sys.stderr)
    os._exit(code)


def die(by="SIGKILL"):
    """End at once by a signal, as the out-of-memory killer or a limit on CPU time would have it."""
    os.kill(os.getpid(), signal.Signals[by])


def spawn_and_hang(pid_file, own_session=False):
    """Start a process that sleeps, perhaps outside this one's group, note its id, then never return."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleep, start_new_session=own_session)
    with open(pid_file, "w", encoding="utf-8") as file:  # noqa: PTH123 - runs without this module's imports
        file.write(str(child.pid))
    while True:
        time.sleep(60)


def unserialisable():
    """Return what JSON cannot hold."""
    return {1, 2, 3}
