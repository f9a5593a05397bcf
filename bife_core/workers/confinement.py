"""The sandbox: the measures that a worker takes before its first call, and the limits of each call."""

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped, unused-ignore]

from bife_core.base.places import compiled_code
from bife_core.base.plugins import plugin_packages
from bife_core.base.values import Value
from bife_core.workers import linux

MEASURES: Final = ("limits", "network", "files", "calls")
"""The measures of the sandbox, in the order they are taken."""

_SYSTEM: Final = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/dev", "/sys", "/nix/store", "/gnu/store",
    "/proc/self", "/proc/thread-self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/sys",
    "/proc/filesystems",
)  # fmt: skip
"""Interpreters, libraries and facts about the machine."""
_CPU_GRACE_S: Final = 10.0
MOST_KEPT_MB: Final = 1000.0
"""Resident memory above which a worker is replaced after a call: twice what solving and scoring need at rest."""

_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_FILE_MB: Final = 1024
_OPEN_FILES: Final = 256
_PROCESSES: Final = 64  # and threads, where they can be counted apart


class Confinement(Value):
    """What the sandbox allows besides reading Python, BiFE and the system, and writing the worker's own directory."""

    measures: tuple[str, ...] = MEASURES
    memory_mb: float  # address space of a call
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


def usable_memory_mb() -> float:
    """Return the memory of the machine, or of its container if that is less."""
    total = float(psutil.virtual_memory().total)
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or the word "max"
            total = min(total, float(Path(path).read_text()))
    return total / 2**20


def memory_share_mb(workers: int) -> float:
    """Return the address space of each of so many workers: its part of 80 % of the memory, at least 2 GiB."""
    return max(2048.0, 0.8 * usable_memory_mb() / workers)


def directories_of(paths: Iterable[Path]) -> frozenset[Path]:
    """Return the directories of files, with those that links lead to; a directory stands for itself."""
    targets = {target for path in paths for target in (path.absolute(), Path(os.path.realpath(path)))}
    return frozenset(path if path.is_dir() else path.parent for path in targets)


in_force: Final[dict[str, str]] = {}
"""A phrase for each measure taken in this process; it starts with "no:" if the measure failed."""


def confine(core: int | None, lifeline: int, parent: int, confinement: Confinement) -> None:
    """Pin this worker to a core, if any, tie its life to the `lifeline` of its `parent`, and take all measures."""
    faulthandler.enable()
    if core is not None and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # the core went offline or the container shrank since the parent looked
            os.sched_setaffinity(0, {core})
    _die_with_parent(lifeline, parent)
    measures = (_limit_resources, _leave_network, _restrict_files, _filter_system_calls)
    for name, measure in zip(MEASURES, measures, strict=True):
        try:
            if name not in confinement.measures:
                raise ValueError("not asked for")
            if name != "limits" and sys.platform != "linux":
                raise ValueError(f"{sys.platform} has nothing of the kind")
            in_force[name] = measure(confinement)
        except (OSError, ValueError) as error:
            in_force[name] = f"no: {getattr(error, 'strerror', None) or error}"


def end_process_group() -> None:
    """Kill this worker and its process group."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


@contextmanager
def limited(limit_s: float, memory_mb: float) -> Iterator[None]:
    """Hold a call to CPU seconds, should the parent be stopped, and to MiB beyond what the process has now."""
    if in_force.get("limits", "no:").startswith("no:"):
        yield
        return
    before = [(kind, resource.getrlimit(kind)) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS)]
    seconds = time.process_time() + limit_s + _CPU_GRACE_S
    if math.isfinite(seconds):
        resource.setrlimit(resource.RLIMIT_CPU, _allowed(resource.RLIMIT_CPU, math.ceil(seconds)))
    most = int(psutil.Process().memory_info().vms + memory_mb * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, _allowed(resource.RLIMIT_AS, most))
    try:
        yield
    finally:
        for kind, (soft, hard) in before:
            resource.setrlimit(kind, (soft, hard))


def is_clean() -> bool:
    """Return whether the worker may take another call: no thread is left but its two, nor too much memory."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library on Linux has it
        if trim is not None:
            trim(0)
    memory_mb = psutil.Process().memory_info().rss / 2**20
    return threading.active_count() <= 2 and bool(memory_mb <= MOST_KEPT_MB)


def _die_with_parent(lifeline: int, parent: int) -> None:
    # A call stuck in native code may never let a Python thread notice that the parent is gone, so the kernel kills the
    # group when the last write end of the lifeline closes. PR_SET_PDEATHSIG, which depends on the thread that started
    # the worker, is for calls that close descriptors they do not know.
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, int(signal.SIGKILL))
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        linux.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel was asked
            end_process_group()


def _limit_resources(confinement: Confinement) -> str:
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _FILE_MB * 2**20),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        soft, _ = _allowed(kind, value)
        resource.setrlimit(kind, (soft, soft))
    if sys.platform == "linux":  # should memory run out after all, this process goes and its parent stays
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    return f"CPU and memory of a call, {_OPEN_FILES} open files of {_FILE_MB} MB, no core dump"


def _leave_network(confinement: Confinement) -> str:
    linux.leave_network()
    if "limits" in confinement.measures:
        # In a user namespace of its own the process is counted apart from the user's others.
        resource.setrlimit(resource.RLIMIT_NPROC, (_PROCESSES, _PROCESSES))
    return "a network namespace without interfaces"


def _restrict_files(confinement: Confinement) -> str:
    scratch = Path(tempfile.gettempdir())
    readable = [*map(Path, _SYSTEM), *_installation(), *confinement.readable]
    version = linux.restrict_files(readable, [scratch, Path("/dev/null"), *confinement.writable])
    return f"reads what a call names, writes its own temporary directory (Landlock {version})"


def _installation() -> list[Path]:
    """Return the paths of this Python, its packages, BiFE, its compiled code and packages that extend it."""
    package = Path(__file__).resolve().parents[1]
    # What else lies beside the package in a checkout is none of a rule's business.
    imported = [path for path in sys.path if path and Path(path).resolve() != package.parent]
    bife = [str(package), *map(str, package.parent.glob("bife*.egg-info"))]
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, *imported, *bife, *sysconfig.get_paths().values()]
    for variable in ("LD_LIBRARY_PATH", "SCIPOPTDIR", "BIFE_SANDBOX_READABLE"):
        paths += os.environ.get(variable, "").split(os.pathsep)
    for spec in filter(None, map(find_spec, plugin_packages())):  # an editable package is on no path
        paths += spec.submodule_search_locations or [spec.origin or ""]
    return [*(Path(path).resolve() for path in paths if path), compiled_code()]


def _filter_system_calls(confinement: Confinement) -> str:
    linux.filter_system_calls()
    return "no sockets, no new processes or programs, no hand on other processes (seccomp)"


def _allowed(kind: int, value: int) -> tuple[int, int]:
    """Return a soft limit, at most the hard one, and the hard one."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard), hard
