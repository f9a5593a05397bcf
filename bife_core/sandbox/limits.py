"""What a worker is held to: the measures to take, and the numbers that go with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped, unused-ignore]
from pydantic import Field

from bife_core.values import Value

MEASURES: Final = ("limits", "network", "files", "calls")
"""Measures that can be left out, in the order they are taken."""

_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SHARE_OF_MEMORY: Final = 0.8
_LEAST_MEMORY_MB: Final = 2048.0


class Confinement(Value):
    """What one worker process may do; it applies all of it to itself before its first call."""

    measures: tuple[str, ...] = Field(MEASURES, description="Measures to take; tests take them one by one.")
    memory_mb: float = Field(
        gt=0, description="Address space for one call, beyond what the worker has before it."
    )
    file_mb: float = Field(1024.0, gt=0, description="Size of the largest file it may write.")
    open_files: int = Field(256, ge=16, description="Files it may have open at once.")
    processes: int = Field(64, ge=8, description="Threads and processes, where they can be counted apart.")
    readable: tuple[Path, ...] = Field(
        (), description="Where it may read, beside Python, BiFE and the system."
    )
    writable: tuple[Path, ...] = Field((), description="Where it may write, beside its temporary directory.")


def usable_memory_mb() -> float:
    """Return the memory this process may count on: the machine's, or less in a container that has less."""
    total = float(psutil.virtual_memory().total)
    for path in _CGROUP_LIMITS:
        try:
            total = min(total, float(Path(path).read_text()))
        except (OSError, ValueError):  # no such file, or the word "max"
            continue
    return total / 2**20


def memory_share_mb(workers: int) -> float:
    """Return the address space each of so many workers gets."""
    return max(_LEAST_MEMORY_MB, _SHARE_OF_MEMORY * usable_memory_mb() / workers)


def directories_of(paths: Iterable[Path]) -> frozenset[Path]:
    """Return the directories files lie in, links followed; a directory stands for itself."""
    found = set()
    for path in paths:
        for seen in (path.absolute(), Path(os.path.realpath(path))):
            found.add(seen if seen.is_dir() else seen.parent)
    return frozenset(found)
