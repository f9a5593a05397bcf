"""One solve: what is solved by which method, and what becomes of it in a worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bife_core.benchmarks.base import Instance
from bife_core.errors import SolverError
from bife_core.jit import code_digest
from bife_core.machine import here
from bife_core.methods.base import AnyMethod, Method, ScipMethod
from bife_core.methods.using import solve
from bife_core.scip.solving import INTERRUPTED, SolveResult, SolveSettings, versions
from bife_core.values import Value

Cause = Literal["rule", "machine"]

_GRACE_S = 30.0
"""Wall seconds beyond twice the CPU limit a worker may take: reading the instance, presolving, a shared core."""


class SolveJob(Value):
    """One instance, one method, one set of settings.

    Attributes
    ----------
    scope : str
        Hash of the solves that it is interleaved with; a stored solve of another scope is not used.
    """

    instance: str
    path: Path
    instance_digest: str
    method: AnyMethod
    settings: SolveSettings
    scope: str = ""

    @classmethod
    def of(cls, instance: Instance, method: Method, settings: SolveSettings, scope: str = "") -> SolveJob:
        """Return the job for an instance of a benchmark."""
        return cls(
            instance=instance.name,
            path=instance.path,
            instance_digest=instance.digest,
            method=method,
            settings=settings,
            scope=scope,
        )

    @property
    def key(self) -> str:
        """Hash of all a result depends on but the machine: instance, method, settings, SCIP, code of features."""
        facts = {
            "digest": self.instance_digest,
            "method": self.method.identity,
            "settings": self.settings.model_dump(mode="json"),
            "scope": self.scope,
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
class Solved:
    """What became of a solve: its result, or why there is none.

    Attributes
    ----------
    cause : str or None
        What the failure is known to be: an error of the rule, or possibly one of the machine.
    reused : bool
        Whether it was found in the store.
    rpb_failure : str or None
        Why RPB has no result on the instance either; None where it has one, or was not asked.
    """

    job: SolveJob
    result: SolveResult | None = None
    failure: str | None = None
    cause: Cause | None = None
    reused: bool = False
    rpb_failure: str | None = None

    @property
    def rules_fault(self) -> str | None:
        """What the rule did wrong, as a sentence; None if nothing is known against it."""
        if self.failure is None or self.rpb_failure is not None:
            return None
        message = f"{self.job.instance}: {self.failure}"
        return message if self.cause == "rule" else f"{message} RPB does not fail there."


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
    return result.model_copy(update={"machine": here()}).model_dump(mode="json")
