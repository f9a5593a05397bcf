"""Seconds that do not depend on how busy the machine is: the root of each solve is the control.

Up to the first branching a solve does the same work under every branching rule. How long that took, over how long it
took RPB in the reference, is how much slower the machine was at that moment; the whole solve is counted as if it had
not been. The control costs nothing: it is part of the solve, in the same process, on the same core, seconds apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bife_core.benchmarks.base import Instance
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.solving import solve_each
from bife_core.methods.base import RPB, ScipMethod
from bife_core.sandbox import Note, Workers
from bife_core.scip.solving import SolveResult
from bife_core.store import Store
from bife_core.values import Value

_POOLED_S: Final = 0.5
"""Seconds of root as which the load_factor over all instances counts beside that of one: short roots are noisy."""


class Reference(Value):
    """RPB's solves of the design instances, made once for a search: what others are measured by.

    Attributes
    ----------
    results : tuple of (SolveResult or None)
        One per design instance, in order; None where RPB has none.
    failures : tuple of str
        A sentence per instance that is set aside for the whole search, because RPB fails on it.
    """

    results: tuple[SolveResult | None, ...]
    failures: tuple[str, ...] = ()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all solves."""
        return math.fsum(result.cpu_s for result in self.results if result is not None)


def measure_reference(
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: Store,
    *,
    note: Note | None = None,
    until_unix_s: float | None = None,
) -> Reference:
    """Solve the design instances with RPB; solves done before are reused.

    Raises
    ------
    WorkerFailure, OutOfTimeError, OSError
        As `run_solves`.
    """
    solved = solve_each(
        ScipMethod(name=RPB), instances, config, pool, solves, note=note, until_unix_s=until_unix_s
    )
    return Reference(
        results=tuple(one.result for one in solved),
        failures=tuple(
            f"{one.job.instance} is set aside for the whole search, because RPB fails on it: {one.failure}"
            for one in solved
            if one.failure is not None
        ),
    )


def load_factors(results: Sequence[SolveResult], reference: Sequence[SolveResult]) -> list[float]:
    """Return how many times slower the machine was during each solve than in the reference of the same instance.

    Examples
    --------
    >>> load_factors([], [])
    []
    """
    roots = [
        (own.root_s, other.root_s) if own.root_s and other.root_s else (0.0, 0.0)
        for own, other in zip(results, reference, strict=True)
    ]
    total = math.fsum(other for _, other in roots)
    pooled = math.fsum(own for own, _ in roots) / total if total else 1.0
    return [(own + _POOLED_S * pooled) / (other + _POOLED_S) for own, other in roots]
