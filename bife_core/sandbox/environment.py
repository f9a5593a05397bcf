"""What a worker process may see of its parent: the environment it gets and the cores it may use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_KEPT: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM"
    r"|LD_LIBRARY_PATH|DYLD_\w+|SCIPOPTDIR|SYSTEMROOT|VIRTUAL_ENV|CONDA_\w+|XDG_\w+"
    r"|PYTHON\w+|NUMBA_\w+|BIFE_CACHE_DIR|BIFE_SANDBOX_READABLE|COVERAGE_\w+"
)
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)

_SINGLE_THREADED: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def usable_cores() -> tuple[int, ...]:
    """Return the cores this process may run on, in ascending order.

    Where the system knows no affinity (macOS), all cores count.
    """
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def worker_environment(parent: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """Return the environment of a worker.

    Only what Python, SCIP and numba need is handed down, and nothing that looks like a secret: a generated
    rule must not find an API key, whatever it manages to read.

    Parameters
    ----------
    parent : mapping
        The environment to choose from, normally ``os.environ``.
    temporary : Path
        The worker's own directory for temporary files.
    """
    kept = {
        name: value for name, value in parent.items() if _KEPT.fullmatch(name) and not _SECRET.search(name)
    }
    # The child must import the very package its parent runs, installed or not.
    root = str(Path(__file__).resolve().parents[2])
    inherited = kept.get("PYTHONPATH")
    kept["PYTHONPATH"] = root if not inherited else os.pathsep.join((root, inherited))
    kept["PYTHONHASHSEED"] = "0"
    kept["PYTHONUNBUFFERED"] = "1"
    kept["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    for name in _SINGLE_THREADED:
        kept[name] = "1"
    for name in ("TMPDIR", "TEMP", "TMP"):
        kept[name] = str(temporary)
    return kept
