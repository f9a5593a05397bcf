"""The machine that times are measured on."""

from __future__ import annotations

import getpass
import os
import platform
import re
from functools import cache
from pathlib import Path

import psutil

from bife_core.base.values import Value, digest_of
from bife_core.solver.scip.libscip import lp_solver
from bife_core.solver.scip.solve import versions
from bife_core.workers import usable_cores


class Machine(Value):
    """What a reader must know to judge a time; `governor` is of the first core, if known."""

    cpu: str
    architecture: str
    system: str
    kernel: str
    cores: int
    physical_cores: int
    usable_cores: int
    memory_gib: float
    governor: str | None
    lp_solver: str
    versions: dict[str, str]

    @property
    def digest(self) -> str:
        """Hash of what times depend on: processor, memory and solver."""
        facts = [self.cpu, self.architecture, self.cores, self.physical_cores, round(self.memory_gib)]
        return digest_of([*facts, self.lp_solver, self.versions["scip"]])[:16]


def this_machine() -> Machine:
    """Return this machine."""
    logical = os.cpu_count() or 1
    model = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return Machine(
        cpu=model[1] if model else platform.processor() or platform.machine(),
        architecture=platform.machine(),
        system=platform.system(),
        kernel=platform.release(),
        cores=logical,
        physical_cores=psutil.cpu_count(logical=False) or logical,
        usable_cores=len(usable_cores()),
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        lp_solver=lp_solver(),
        versions=versions(),
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@cache
def here() -> str:
    """Return the digest of this machine."""
    return this_machine().digest


@cache
def user() -> str:
    """Return the login name of this process's user, or "unknown"."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container the user id may have no name
        return "unknown"
