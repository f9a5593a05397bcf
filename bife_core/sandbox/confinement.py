"""What a worker does to itself before the first call: the place where limits on a worker are set.

Each measure is one function called by `confine`. A system that lacks one goes without it, and `in_force` says so,
except that a worker always dies with its parent (`bife_core.sandbox.worker` also watches the pipe its requests
come through).
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import math
import os
import resource
import signal
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bife_core.places import compiled_code
from bife_core.sandbox import linux
from bife_core.sandbox.limits import Confinement

_SYSTEM: Final = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/dev", "/sys", "/nix/store", "/gnu/store",
    "/proc/self", "/proc/thread-self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/sys",
    "/proc/filesystems",
)  # fmt: skip
"""Where interpreters, libraries and facts about the machine lie."""

READABLE_VARIABLE: Final = "BIFE_SANDBOX_READABLE"
"""Environment variable: more directories a worker may read, for an installation in an unusual place."""

_CPU_GRACE_S: Final = 10.0

MOST_KEPT_MB: Final = 1000.0
"""Resident memory with which a worker is replaced after a call: twice what solving and scoring need at rest."""

_in_force: dict[str, str] = {}


def in_force() -> dict[str, str]:
    """Return what was done to this process: measure to a phrase, which starts with "no:" if it failed."""
    return dict(_in_force)


def confine(core: int | None, lifeline: int, parent: int, confinement: Confinement) -> dict[str, str]:
    """Pin this process, tie its life to its parent's, take all measures, and make crashes leave a trace.

    Parameters
    ----------
    core : int or None
        The one core to run on; None leaves the choice to the system.
    lifeline : int
        Read end of a pipe whose write end only the parent holds.
    parent : int
        Process id of the parent.
    confinement : Confinement
        Which measures to take.

    Returns
    -------
    dict
        See `in_force`.
    """
    faulthandler.enable()
    _pin(core)
    _die_with_parent(lifeline, parent)
    measures: dict[str, Callable[[Confinement], str]] = {
        "limits": _limit_resources,
        "network": _leave_network,
        "files": _restrict_files,
        "calls": _filter_system_calls,
    }
    for name, measure in measures.items():
        if name not in confinement.measures:
            _in_force[name] = "no: not asked for"
            continue
        if name != "limits" and sys.platform != "linux":
            _in_force[name] = f"no: {sys.platform} has nothing of the kind"
            continue
        try:
            _in_force[name] = measure(confinement)
        except (OSError, ValueError) as error:
            _in_force[name] = f"no: {error.strerror or error if isinstance(error, OSError) else error}"
    return in_force()


def end_process_group() -> None:
    """Kill this worker and every process it started that stayed in its group."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


@contextmanager
def limited(limit_s: float, memory_mb: float) -> Iterator[None]:
    """Hold the call made inside to its own CPU time and memory, should the parent be stopped or slow.

    Parameters
    ----------
    limit_s : float
        Wall seconds the parent grants; the CPU may take some more.
    memory_mb : float
        Address space beyond what the process has now.
    """
    if "limits" not in _in_force or _in_force["limits"].startswith("no:"):
        yield
        return
    before = [(kind, resource.getrlimit(kind)) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS)]
    seconds = time.process_time() + limit_s + _CPU_GRACE_S
    if math.isfinite(seconds):
        resource.setrlimit(resource.RLIMIT_CPU, _allowed(resource.RLIMIT_CPU, math.ceil(seconds)))
    most = _address_space() + int(memory_mb * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, _allowed(resource.RLIMIT_AS, most))
    try:
        yield
    finally:
        for kind, (soft, hard) in before:
            resource.setrlimit(kind, (soft, hard))


def is_clean() -> bool:
    """Tell whether the worker can be asked again after its last call.

    The call must have left nothing behind that runs, no thread of Python's but the worker's two, and the worker must
    not have grown fat: every compiled rule stays in its process, and large models leave the heap in pieces.
    """
    return threading.active_count() <= 2 and _memory_mb() <= MOST_KEPT_MB


def _memory_mb() -> float:
    """Return the resident memory of this process; 0 on systems without Linux's account of it."""
    if sys.platform != "linux":
        return 0.0
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library on Linux has it
    if trim is not None:
        trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _pin(core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, {core})
        except OSError as error:  # the core went offline or the container shrank since the parent looked
            print(f"cannot pin to core {core}: {error}", file=sys.stderr)


def _die_with_parent(lifeline: int, parent: int) -> None:
    # A call stuck in native code may never let a Python thread notice that the parent is gone, so the
    # kernel is asked to kill the group when the last write end of the lifeline closes. Unlike
    # PR_SET_PDEATHSIG this does not depend on the thread that started the worker; that one is for calls that
    # close descriptors they do not know.
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, int(signal.SIGKILL))
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        linux.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel was asked
            end_process_group()


def _limit_resources(confinement: Confinement) -> str:
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": int(confinement.file_mb * 2**20),
        "RLIMIT_NOFILE": confinement.open_files,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name)
        soft, _ = _allowed(kind, value)
        resource.setrlimit(kind, (soft, soft))
    adjust = Path("/proc/self/oom_score_adj")
    if adjust.exists():  # should memory run out after all, this process goes and its parent stays
        adjust.write_text("1000")
    return f"CPU and memory of a call, {confinement.open_files} open files of {confinement.file_mb:g} MB, no core dump"


def _leave_network(confinement: Confinement) -> str:
    linux.leave_network()
    if "limits" in confinement.measures:
        # In a user namespace of its own the process is counted apart from the user's others.
        resource.setrlimit(resource.RLIMIT_NPROC, (confinement.processes, confinement.processes))
    return "a network namespace without interfaces"


def _restrict_files(confinement: Confinement) -> str:
    own = Path(tempfile.gettempdir())
    readable = [*map(Path, _SYSTEM), *_installation(), *confinement.readable]
    version = linux.restrict_files(readable, [own, Path("/dev/null"), *confinement.writable])
    return f"reads what a call names, writes its own temporary directory (Landlock {version})"


def _installation() -> list[Path]:
    """Where this Python, its packages, BiFE and the code compiled for it lie."""
    package = Path(__file__).resolve().parents[1]
    # What else lies beside the package in a checkout is none of a rule's business.
    imported = [path for path in sys.path if path and Path(path).resolve() != package.parent]
    own = [str(package), *map(str, package.parent.glob("bife*.egg-info"))]
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, *imported, *own, *sysconfig.get_paths().values()]
    for variable in ("LD_LIBRARY_PATH", "SCIPOPTDIR", READABLE_VARIABLE):
        paths += os.environ.get(variable, "").split(os.pathsep)
    return [*(Path(path).resolve() for path in paths if path), compiled_code()]


def _filter_system_calls(confinement: Confinement) -> str:
    linux.gain_no_privileges()
    linux.filter_system_calls()
    return "no sockets, no new processes or programs, no hand on other processes (seccomp)"


def _allowed(kind: int, value: int) -> tuple[int, int]:
    """Return a soft limit that the hard one allows, and the hard one."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard), hard


def _address_space() -> int:
    """Bytes of address space in use; 0 where the system does not say, which limits a call to its own share."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
