"""What a worker does to itself before the first call: the place where limits on a worker are set.

Each measure is one function called by `confine`; a system that lacks one goes without it, except that a
worker always dies with its parent (`bife_core.sandbox.worker` also watches the pipe its requests come
through).
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys

if sys.platform != "win32":
    import fcntl


def confine(core: int | None, lifeline: int) -> None:
    """Pin this process, tie its life to its parent's, and make crashes leave a trace.

    Parameters
    ----------
    core : int or None
        The one core to run on; None leaves the choice to the system.
    lifeline : int
        Read end of a pipe whose write end only the parent holds.
    """
    faulthandler.enable()
    _pin(core)
    _die_with_parent(lifeline)


def end_process_group() -> None:
    """Kill this worker and every process it started that stayed in its group."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _pin(core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, {core})
        except OSError as error:  # the core went offline or the container shrank since the parent looked
            print(f"cannot pin to core {core}: {error}", file=sys.stderr)


def _die_with_parent(lifeline: int) -> None:
    # A call stuck in native code may never let a Python thread notice that the parent is gone, so the
    # kernel is asked to kill the group when the last write end of the lifeline closes. Unlike
    # PR_SET_PDEATHSIG this does not depend on the thread that started the worker.
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, int(signal.SIGKILL))
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
