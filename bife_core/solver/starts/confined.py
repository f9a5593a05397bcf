"""Start methods in Python, run in a confined process of their own that reads no files of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import numpy as np

from bife_core.base.errors import SolverError
from bife_core.solver.starts.problem import Problem
from bife_core.workers.base import WorkerFailure
from bife_core.workers.confinement import MEASURES, Confinement, in_force
from bife_core.workers.pool import START_LIMIT_S
from bife_core.workers.process import WorkerProcess

MEMORY_MB: Final = 2048.0
"""Memory of a start method, beyond that of Python."""

_NEEDED: Final = ("files", "calls")
"""Measures without which no Python of a start is run: nothing else stands before it."""

_TUPLES: Final = ("names", "row_names", "solutions")

_KINDS: Final = {"initial": bool, "indices": np.int64, "indptr": np.int64}
"""Types of arrays that may be empty, whose values do not say it; others are of numbers."""


def propose(source: str, problem: Problem) -> list[Any]:
    """Run a source's ``start(problem)`` in a process, and return its values, which are unchecked."""
    facts = {field.name: getattr(problem, field.name) for field in fields(problem)}
    facts = {name: of.tolist() if isinstance(of, np.ndarray) else of for name, of in facts.items()}
    # Within a worker, which is cut off from the network, no process can be so again.
    measures = tuple(name for name in MEASURES if name != "network" or not in_force)
    process = WorkerProcess(None, Confinement(measures=measures, memory_mb=MEMORY_MB))
    try:
        process.wait_ready(START_LIMIT_S)
        arguments = {"source": source, "facts": facts}
        proposed: list[Any] = process.ask(f"{__name__}:run", arguments, problem.limit_s, MEMORY_MB)
        return proposed
    except WorkerFailure as failure:
        if failure.kind == "timeout":
            raise SolverError(f"it was ended after {problem.limit_s:g} s") from failure
        raise
    finally:
        process.close()


def run(source: str, facts: dict[str, Any]) -> list[Any]:
    """Run a start method in this process, which is confined, and return what it proposes as lists."""
    if lacking := [name for name in _NEEDED if in_force.get(name, "no:").startswith("no:")]:
        raise SolverError(
            f"this machine cannot confine Python ({', '.join(lacking)}: see `bife doctor`); use a start of BiFE's own"
        )
    arrays = {name: np.asarray(of, _KINDS.get(name)) for name, of in facts.items() if isinstance(of, list)}
    problem = Problem(**{**facts, **arrays, **{name: tuple(facts[name]) for name in _TUPLES}})
    scope: dict[str, Any] = {"__name__": "start"}
    exec(compile(source, "<start>", "exec"), scope)
    proposed = scope["start"](problem)
    if proposed is None:
        return []
    if not hasattr(proposed, "__len__"):
        raise SolverError(f"it returned a {type(proposed).__name__}, no array, dictionary or list of these")
    if len(proposed) == 0:
        return []
    if isinstance(proposed, Mapping):
        proposed = [proposed]
    several = [each for each in proposed if each is not None]
    if several and not isinstance(several[0], Mapping) and np.ndim(several[0]) == 0:
        several = [proposed]
    values = (
        [each.get(name, np.nan) for name in problem.names] if isinstance(each, Mapping) else each
        for each in several
    )
    return [np.asarray(each, dtype=float).tolist() for each in values]
