"""Run a program and end it, with all that it started, when it ends or its owner does.

    python guard.py PROGRAM ARGUMENT ...

The owner holds the other end of the standard input, which the system closes however the owner ends.
"""

from __future__ import annotations

import ctypes
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil


def adopt_orphans() -> None:
    """Make processes whose parent ends children of this one, however deep they were; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def end(processes: list[psutil.Process]) -> None:
    """End processes with all that they started, by force where they do not go."""
    family = list(processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            family += process.children(recursive=True)
    for signalled in (psutil.Process.terminate, psutil.Process.kill):
        for process in family:
            with suppress(psutil.NoSuchProcess):
                signalled(process)
        deadline = time.monotonic() + 10.0
        while (family := [process for process in family if alive(process)]) and time.monotonic() < deadline:
            time.sleep(0.05)


def alive(process: psutil.Process) -> bool:
    """Whether a process still runs, and is not just waiting to be reaped."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def main() -> int:
    """Guard the program that the arguments name and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # The owner decides; ignored, they would be ignored by the program too.
        signal.signal(number, lambda *_: None)
    adopt_orphans()
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    while program.poll() is None and not select.select([sys.stdin], [], [], 1.0)[0]:
        pass
    end(psutil.Process().children())
    return program.poll() or 0


if __name__ == "__main__":
    sys.exit(main())
