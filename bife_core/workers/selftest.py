"""Small calls with known behaviour, for `bife doctor`, benches and tests."""

from __future__ import annotations

import os
import time
from typing import Any

from bife_core.workers.confinement import in_force


def echo(value: Any) -> Any:
    """Return `value` unchanged."""
    return value


def describe() -> dict[str, Any]:
    """Return process id, cores, environment and measures in force of the worker."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {"pid": os.getpid(), "cores": cores, "environment": dict(os.environ), "in_force": in_force}


def pause(seconds: float) -> float:
    """Sleep, and return the seconds."""
    time.sleep(seconds)
    return seconds


def run_unchecked(source: str) -> Any:
    """Run any Python text and return its `result`, past the first two walls, for tests of the sandbox."""
    scope: dict[str, Any] = {"result": None}
    exec(compile(source, "<unchecked>", "exec"), scope)
    return scope["result"]
