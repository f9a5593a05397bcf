"""Start methods in Python, run in a confined process of their own that reads no files of the user."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array

from bife_core.base.errors import SolverError
from bife_core.solver.starts.problem import Problem
from bife_core.workers.base import WorkerFailure
from bife_core.workers.confinement import MEASURES, Confinement, in_force
from bife_core.workers.pool import START_LIMIT_S
from bife_core.workers.process import WorkerProcess

MEMORY_MB: Final = 2048.0
"""Memory of a start method, beyond that of Python."""

_RUN: Final = "bife_core.solver.starts.confined:run"
_NUMBERS: Final = ("objective", "lower", "upper", "integer", "lhs", "rhs")


class StartFailure(SolverError):  # noqa: N818 - the noun of `WorkerFailure`
    """A start method in a process gave no result; `child_s` are the CPU seconds of that process."""

    def __init__(self, reason: str, child_s: float) -> None:
        super().__init__(reason)
        self.child_s = child_s


def propose(source: str, problem: Problem) -> tuple[list[Any], float]:
    """Run a source's ``start(problem)`` and return its values, unchecked, and the CPU seconds of its process."""
    matrix = {name: getattr(problem.rows, name).tolist() for name in ("data", "indices", "indptr")}
    arrays = {name: getattr(problem, name).tolist() for name in _NUMBERS}
    names = {"names": problem.names, "row_names": problem.row_names, "solutions": problem.solutions}
    facts = arrays | names | {"matrix": matrix, "seed": problem.seed, "limit_s": problem.limit_s}
    # Within a worker that is cut off from the network already, no process can be so again.
    measures = tuple(name for name in MEASURES if name != "network" or not in_force)
    before, reason, proposed = _children_s(), "", []
    try:
        process = WorkerProcess(None, Confinement(measures=measures, memory_mb=MEMORY_MB))
        try:
            process.wait_ready(START_LIMIT_S)
            proposed = process.ask(_RUN, {"source": source, "facts": facts}, problem.limit_s, MEMORY_MB)
        finally:
            process.close()
    except WorkerFailure as failure:
        reason = str(failure)
        if failure.kind == "timeout":
            reason = f"it was ended after {problem.limit_s:g} s"
    spent_s = _children_s() - before
    if reason:
        raise StartFailure(reason, spent_s)
    return proposed, spent_s


def run(source: str, facts: dict[str, Any]) -> list[Any]:
    """Run a start method in this process, which is confined, and return what it proposes as lists."""
    matrix = facts.pop("matrix")
    shape = (len(facts["lhs"]), len(facts["objective"]))
    rows = csr_array(tuple(np.asarray(matrix[name]) for name in ("data", "indices", "indptr")), shape=shape)
    facts |= {name: np.asarray(facts[name], dtype=bool if name == "integer" else float) for name in _NUMBERS}
    facts |= {name: tuple(facts[name]) for name in ("names", "row_names", "solutions")}
    scope: dict[str, Any] = {"__name__": "start"}
    exec(compile(source, "<start>", "exec"), scope)
    proposed = scope["start"](problem := Problem(rows=rows, **facts))
    if proposed is None:
        return []
    if isinstance(proposed, Mapping) or np.ndim(proposed[0]) == 0:
        proposed = [proposed]
    return [_values(each, problem.names) for each in proposed if each is not None]


def _values(proposed: Any, names: tuple[str, ...]) -> list[Any]:
    if isinstance(proposed, Mapping):
        proposed = [proposed.get(name, np.nan) for name in names]
    values: list[Any] = np.asarray(proposed, dtype=float).tolist()
    return values


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
