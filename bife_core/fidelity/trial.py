"""Solves of a few training instances: feedback for a search's own use, apart from F_HF."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bife_core.benchmarks.base import Instance
from bife_core.errors import RuleError
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.solving import cost_of, misbehaviour, solve_each
from bife_core.methods.base import RPB, Method, ScipMethod
from bife_core.methods.rule import RuleMethod
from bife_core.sandbox import Note, Workers
from bife_core.store import Store
from bife_core.values import Value


class TrialScore(Value):
    """What solving a few instances cost, or the reason there are no costs.

    Attributes
    ----------
    costs : tuple of float or None
        One per instance, in order, in the cost's unit.
    cpu_s : float
        CPU seconds of all solves, reused ones included.
    """

    costs: tuple[float, ...] | None = None
    failure: str | None = None
    cpu_s: float = 0.0


def score_trial(
    source: str | None,
    name: str,
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: Store,
    note: Note | None = None,
    until_unix_s: float | None = None,
) -> TrialScore:
    """Solve instances with a rule, or with RPB where there is no source, and return what each solve cost.

    Unlike for F_HF, an instance that cannot be solved is not set aside: a trial has costs on all or none.

    Raises
    ------
    WorkerFailure
        If the machine failed, not the rule; another try may succeed.
    OutOfTimeError
        If solves are left at `until_unix_s`, seconds since 1970.
    """
    method: Method = ScipMethod(name=RPB)
    if source is not None:
        method = RuleMethod(name=name, source=source)
    try:
        solved = solve_each(method, instances, config, pool, solves, note=note, until_unix_s=until_unix_s)
    except RuleError as error:
        return TrialScore(failure=str(error))
    results = tuple(one.result for one in solved if one.result is not None)
    cpu_s = math.fsum(result.cpu_s for result in results)
    for one in solved:
        if one.failure is not None:
            why = one.rules_fault or f"{one.job.instance}: {one.failure}"
            return TrialScore(failure=why, cpu_s=cpu_s)
    fault = misbehaviour(results)
    if fault is not None:
        return TrialScore(failure=fault, cpu_s=cpu_s)
    return TrialScore(costs=tuple(cost_of(result, config) for result in results), cpu_s=cpu_s)
