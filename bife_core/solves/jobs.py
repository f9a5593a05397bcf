"""One solve: what is solved by whom, under which keys it is known, and what becomes of it in a worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bife_core.benchmarks.base import Instance
from bife_core.errors import SolverError
from bife_core.jit import code_digest
from bife_core.machine import here
from bife_core.methods.base import AnyMethod, Method, ScipMethod
from bife_core.methods.using import solve
from bife_core.scip.solving import INTERRUPTED, SolveResult, SolveSettings, versions
from bife_core.values import Value

_GRACE_S = 30.0
"""Wall seconds beyond twice the CPU limit a worker may take: reading the model, presolving, a shared core."""


class SolveOutcome(Value):
    """The result of a solve, or the reason there is none.

    Attributes
    ----------
    by_rule : bool
        Whether the failure is an error of the rule, which no other method would have met.
    by_machine : bool
        Whether the machine may have failed and neither the rule nor the model.
    """

    result: SolveResult | None = None
    failure: str | None = None
    by_rule: bool = False
    by_machine: bool = False

    def called(self, job: SolveJob) -> SolveOutcome:
        """Return the outcome under the names of a job: it may have been stored under others."""
        if self.result is None:
            return self
        named = self.result.model_copy(update={"instance": job.instance, "method": job.method.name})
        return self.model_copy(update={"result": named})


class SolveJob(Value):
    """One instance, one method, one set of settings."""

    instance: str
    path: Path
    instance_digest: str
    method: AnyMethod
    settings: SolveSettings

    @classmethod
    def of(cls, instance: Instance, method: Method, settings: SolveSettings) -> SolveJob:
        """Return the job for an instance of a benchmark, with the bounds given with it."""
        return cls(
            instance=instance.name,
            path=instance.path,
            instance_digest=instance.digest,
            method=method,
            settings=settings.model_copy(update={"start": instance.start}),
        )

    @property
    def key(self) -> str:
        """Hash of all a result depends on but the machine: model, method, settings, SCIP and the code of features."""
        facts = {
            "digest": self.instance_digest,
            "method": self.method.identity,
            "settings": self.settings.model_dump(mode="json"),
            "scip": versions()["scip"],
            "code": "" if isinstance(self.method, ScipMethod) else code_digest(),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @property
    def limit_s(self) -> float:
        """Seconds after which the worker is killed, as far as it had a core to itself."""
        return 2.0 * (self.settings.time_limit_s or 86_400.0) + _GRACE_S

    def under(self, method: Method) -> SolveJob:
        """Return the same job for another method."""
        return self.model_copy(update={"method": method})


@dataclass(frozen=True)
class Solve:
    """A solve that is wanted.

    Attributes
    ----------
    job : SolveJob
        What is solved.
    found_under, stored_under : tuple of str
        Keys it may be found under, in the order they are looked up, and those it is stored under.
    portable : bool
        Whether a result of another machine will do, since no seconds are read from it.
    """

    job: SolveJob
    found_under: tuple[str, ...]
    stored_under: tuple[str, ...]
    portable: bool = False

    @classmethod
    def of(cls, job: SolveJob, *, portable: bool = False) -> Solve:
        """Return a solve that is known by its job's key alone."""
        return cls(job, (job.key,), (job.key,), portable)

    def keys(self, names: Sequence[str], machine: str) -> tuple[str, ...]:
        """Return the keys of the store for results of a machine."""
        if self.portable:
            return tuple(names)
        return tuple(hashlib.sha256(f"{name} {machine}".encode()).hexdigest() for name in names)


_warm = False


def work(*, warm_up_s: float = 0.0, **job: Any) -> dict[str, Any]:
    """Run one job in this process, after an unmeasured solve if it is the first; what workers are sent.

    The first solve of a process pays for loading compiled code and for a cold cache, which is no method's fault.
    """
    global _warm
    todo = SolveJob.model_validate(job)
    if warm_up_s > 0 and not _warm:
        solve(todo.path, "most_fractional", time_limit_s=warm_up_s, seed=todo.settings.seed)
    _warm = True
    result = solve(todo.path, todo.method, settings=todo.settings)
    if result.status in INTERRUPTED:
        raise SolverError(f"The solve of {todo.instance} under {todo.method.name} was interrupted.")
    outcome = SolveOutcome(result=result.model_copy(update={"machine": here()}))
    return outcome.called(todo).model_dump(mode="json")
