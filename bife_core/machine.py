"""The machine times were measured on: they mean nothing without it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path

import psutil

from bife_core.sandbox import usable_cores
from bife_core.scip.effort import lp_solver
from bife_core.scip.solving import versions
from bife_core.values import Value

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


class Machine(Value):
    """What a reader must know to judge a time.

    Attributes
    ----------
    cpu, architecture, system, kernel : str
        Names as the system gives them.
    cores, physical_cores, usable_cores : int
        Logical cores, cores without hyper-threads, and cores this process may use.
    memory_gib : float
        Main memory.
    governor : str or None
        Frequency governor of the first core; None where it cannot be read.
    lp_solver : str
        Name and version of SCIP's LP solver.
    versions : dict
        Of SCIP, PySCIPOpt, Python and BiFE.
    """

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
        """Hash of what times depend on: the processor, the memory, the solver, not the kernel's patch level."""
        facts = [
            self.cpu,
            self.architecture,
            self.cores,
            self.physical_cores,
            round(self.memory_gib),
            self.lp_solver,
            self.versions["scip"],
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the facts as labels and texts, for a table."""
        cores = f"{self.physical_cores} physical, {self.cores} logical, {self.usable_cores} usable"
        return (
            ("processor", f"{self.cpu} ({self.architecture})"),
            ("cores", cores),
            ("frequency governor", self.governor or "cannot be read"),
            ("memory", f"{self.memory_gib:.1f} GiB"),
            ("system", f"{self.system}, kernel {self.kernel}"),
            ("SCIP", f"{self.versions['scip']} with {self.lp_solver}"),
            ("PySCIPOpt", self.versions["pyscipopt"]),
            ("Python", self.versions["python"]),
            ("BiFE", self.versions["bife"]),
        )


def this_machine() -> Machine:
    """Return the machine this process runs on."""
    logical = os.cpu_count() or 1
    return Machine(
        cpu=_cpu_model(),
        architecture=platform.machine(),
        system=platform.system(),
        kernel=platform.release(),
        cores=logical,
        physical_cores=psutil.cpu_count(logical=False) or logical,
        usable_cores=len(usable_cores()),
        memory_gib=psutil.virtual_memory().total / 2**30,
        governor=_first_line(_GOVERNOR),
        lp_solver=lp_solver(),
        versions=versions(),
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


@cache
def here() -> str:
    """Return the digest of the machine this process runs on."""
    return this_machine().digest
