"""Solves in pinned worker processes: each once, stored before it is used, and with the cause of a failure."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from bife_core.base.errors import BifeError, InterruptedSolveError, RuleError
from bife_core.base.values import Value, digest_of
from bife_core.instances.base import Instance
from bife_core.solver.code_digest import code_digest, digest_of_folder
from bife_core.solver.machine import here
from bife_core.solver.methods.attach import solve, start_of
from bife_core.solver.methods.base import RPB, AnyMethod, Method, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.solve import INTERRUPTED, RECORDED, SolveResult, SolveSettings, versions
from bife_core.solver.units import FEATURES
from bife_core.workers import Note, WorkerFailure, Workers

if TYPE_CHECKING:
    from bife_core.store import Store  # which workers have no use for

Cause = Literal["rule", "machine"]
Progress: TypeAlias = Callable[[int, int], None]

MISSING: Final = "missing"
"""Status of a solve without a result."""

_POLL_S = 0.5
_GRACE_S = 30.0
"""Wall seconds beyond twice the CPU limit a worker may take: reading the instance, presolving, a shared core."""


class SolveJob(Value):
    """One instance, one method, one set of settings; `scope` is a hash of the solves that it is interleaved with."""

    instance: Instance
    method: AnyMethod
    settings: SolveSettings
    scope: str = ""

    @property
    def key(self) -> str:
        """Hash of all a result depends on but the machine, and of the version of what a result records."""
        facts = {
            "digest": self.instance.digest,
            "method": self.method.identity,
            "settings": self.settings.model_dump(mode="json"),
            "scope": self.scope,
            "scip": versions()["scip"],
            "recorded": RECORDED,
            "code": code_digest() if self.method.runs_code else "",
        }
        return digest_of(facts | code_beforehand(self.method))

    @property
    def limit_s(self) -> float:
        """Wall seconds after which the worker is killed."""
        return 2.0 * (self.settings.time_limit_s or 86_400.0) + _GRACE_S


def code_beforehand(method: Method | None) -> dict[str, str]:
    """Return hashes of the code that writes the start and the inequalities of a method, if it has some."""
    if not isinstance(method, Configuration):
        return {}
    parts = {"starts": method.start, "inequalities": method.inequalities}
    return {name: digest_of_folder(f"solver/{name}") for name, part in parts.items() if part is not None}


@dataclass(frozen=True)
class Solved:
    """The result of a job, under the job's names, or its `failure` and the `cause`, None if that is not known.

    `reused` results had been stored. `rpb_failure` is why RPB, where it was tried, fails on the instance too.
    """

    job: SolveJob
    result: SolveResult | None = None
    failure: str | None = None
    cause: Cause | None = None
    reused: bool = False
    rpb_failure: str | None = None

    def __post_init__(self) -> None:
        if self.result is not None:
            instance = self.job.instance
            names = {"instance": instance.name, "digest": instance.digest, "method": self.method}
            object.__setattr__(self, "result", self.result.model_copy(update=names))

    @property
    def method(self) -> str:
        """What the method is called."""
        return self.job.method.name

    @property
    def row(self) -> dict[str, Any]:
        """The solve by field; without a result most are empty."""
        fields: dict[str, Any] = dict.fromkeys(SolveResult.model_fields) | {"status": MISSING}
        if self.result is not None:
            fields = self.result.model_dump(mode="json")
        instance, seed = self.job.instance, self.job.settings.seed
        fields |= {"instance": instance.name, "digest": instance.digest, "group": instance.group}
        return fields | {"method": self.method, "seed": seed, "failure": self.failure}

    @property
    def rules_fault(self) -> str | None:
        """What the rule did wrong in a sentence, None if nothing is known."""
        if self.failure is None or self.rpb_failure is not None:
            return None
        message = f"{self.job.instance.name}: {self.failure}"
        return message if self.cause == "rule" else f"{message} RPB does not fail there."


_warm = False


def solve_job(*, warm_up_s: float = 0.0, **job: Any) -> dict[str, Any]:
    """Run one job in this process, after an unmeasured solve if it is the first: that one loads compiled code."""
    global _warm
    todo = SolveJob.model_validate(job)
    instance, settings = todo.instance, todo.settings
    if warm_up_s > 0 and not _warm:
        solve(instance.path, "most_fractional", time_limit_s=warm_up_s, seed=settings.seed)
    _warm = True
    result = solve(instance.path, todo.method, settings=settings, timed=True)
    if result.status in INTERRUPTED:
        raise InterruptedSolveError(f"The solve of {instance.name} was interrupted.")
    return result.model_copy(update={"machine": here()}).model_dump(mode="json")


class OutOfTimeError(BifeError):
    """The time for solves was up before all were done; those that were are stored."""


def run_solves(
    groups: Sequence[Sequence[SolveJob]],
    store: Store,
    pool: Workers,
    *,
    warm_up_s: float = 0.0,
    progress: Progress | None = None,
    note: Note | None = None,
    over: Callable[[], bool] = lambda: False,
    machine_may_fail: bool = False,
) -> list[Solved]:
    """Do the solves that are not in the store, and return what became of all, in order.

    The solves of a group follow each other on one core, after `warm_up_s` CPU seconds of an unmeasured solve in a new
    worker. A result is stored the moment its worker answers, and found again by the same machine; a failure is not. A
    solve whose worker is lost is repeated once, with a `note`. Where the rule may not be to blame RPB solves the same
    instance: if it fails too, nothing is known of the rule, else that is tried once more. `progress` is called with
    (done, of how many).

    Raises `WorkerFailure` if the pool is closed, a call could not be made twice, or the machine fails RPB as well,
    unless `machine_may_fail`; `OutOfTimeError` if solves are left when the time is `over`.
    """
    # Of several machines that serve one pool, the first that answers is the one whose seconds count.
    machine = _machine_of(pool) if pool.remote else here()

    def done(groups: Sequence[Sequence[SolveJob]], shown: Progress | None = None) -> list[Solved]:
        return _Batch(groups, store, pool, machine, warm_up_s, note, over).run(shown)

    solved = done(groups, progress)
    by_rpb = {solve.job.key: solve for solve in solved if solve.job.method.identity == RPB}
    unclear = {
        place: solve.job.model_copy(update={"method": ScipMethod(name=RPB)})
        for place, solve in enumerate(solved)
        if solve.failure is not None and solve.cause != "rule"
    }
    missing = {job.key: job for job in unclear.values() if job.key not in by_rpb}
    by_rpb |= {solve.job.key: solve for solve in done([[job] for job in missing.values()])}
    again = []
    for place, job in unclear.items():
        control = by_rpb[job.key]
        if control.cause == "machine" and not machine_may_fail:
            reason = f"{job.instance.name} could not be solved: {control.failure}"
            raise WorkerFailure("died", reason, by_machine=True)
        solved[place] = replace(solved[place], rpb_failure=control.failure)
        if solved[place].cause == "machine" and control.failure is None:
            again.append(place)
    for place, repeated in zip(again, done([[solved[place].job] for place in again]), strict=True):
        solved[place] = repeated
    return solved


@cache
def _machine_of(pool: Workers) -> str:
    return str(pool.submit("bife_core.solver.machine:here", {}, limit_s=300.0).result())


@dataclass
class _Batch:
    """Solves that are done together, without asking what caused a failure."""

    groups: Sequence[Sequence[SolveJob]]
    store: Store
    pool: Workers
    machine: str
    warm_up_s: float
    note: Note | None
    over: Callable[[], bool]
    solved: dict[int, Solved] = field(default_factory=dict)
    sent: dict[Future[Any], int] = field(default_factory=dict)
    repeated: set[int] = field(default_factory=set)
    claimed: set[str] = field(default_factory=set)
    polls: int = 0

    def run(self, progress: Progress | None) -> list[Solved]:
        self.jobs = [job for group in self.groups for job in group]
        places = iter(range(len(self.jobs)))
        # Of each group, those that are neither found nor submitted: another thread or process may be at them.
        waiting = [[next(places) for _ in group] for group in self.groups]
        self._find(range(len(self.jobs)))
        shown = -1
        try:
            while True:
                waiting = [rest for group in waiting if (rest := self._begin(group))]
                if progress is not None and len(self.solved) != shown:
                    shown = len(self.solved)
                    progress(shown, len(self.jobs))
                if len(self.solved) == len(self.jobs):
                    return [self.solved[place] for place in range(len(self.jobs))]
                if self.over():
                    left = len(self.jobs) - len(self.solved)
                    raise OutOfTimeError(f"The time was up before {left} of {len(self.jobs)} solves.")
                self._wait([place for group in waiting for place in group])
        finally:
            for future in self.sent:
                future.cancel()
            self.store.claims.release(self.claimed)

    def _begin(self, group: Sequence[int]) -> list[int]:
        """Submit a group's solves that are neither stored nor claimed by others; return those that others claim."""
        missing = [place for place in group if place not in self.solved]
        if not missing or self.over():
            return missing
        names = {place: self._claim(place) for place in missing}
        taken = self.store.claims.take(names.values())
        self.claimed |= taken
        self._find(missing)  # another process may have stored a result meanwhile
        new = [place for place in missing if names[place] in taken and place not in self.solved]
        if new:
            self._submit(new)
        return [place for place in missing if names[place] not in taken and place not in self.solved]

    def _find(self, places: Sequence[int]) -> None:
        keys = {place: self._key(place) for place in places}
        stored = self.store.get_solve(set(keys.values()))
        for place, key in keys.items():
            if key in stored:
                result = SolveResult.model_validate(stored[key])
                self.solved[place] = Solved(self.jobs[place], result, reused=True)

    def _submit(self, places: Sequence[int]) -> None:
        jobs = [self.jobs[place] for place in places]
        if any(job.method.runs_code for job in jobs):
            FEATURES.prepare()
        starts = [start for job in jobs if (start := start_of(job.method)) is not None]
        for start in starts:
            start.prepare()
        futures = self.pool.submit_batch(
            "bife_core.measure.solves:solve_job",
            [{"warm_up_s": self.warm_up_s, **job.model_dump(mode="json")} for job in jobs],
            limit_s=max(job.limit_s for job in jobs) + 10.0 * self.warm_up_s,
            reads=[job.instance.path for job in jobs],
            processes=any(start.source for start in starts),
        )
        self.sent.update(zip(futures, places, strict=True))

    def _wait(self, of_others: Sequence[int]) -> None:
        if not self.sent:
            from bife_core.store import PATIENCE_S

            self.polls += 1
            if of_others and self.polls == PATIENCE_S / _POLL_S:
                job, holder = self.jobs[of_others[0]], self.store.claims.holder(self._claim(of_others[0]))
                note = self.note or logging.getLogger(__name__).warning
                note(f"Waiting for {job.method.name} on {job.instance.name}, which is solved by {holder}.")
            time.sleep(_POLL_S)
            return
        for future in wait(self.sent, timeout=_POLL_S, return_when=FIRST_COMPLETED).done:
            self._enter(future, self.sent.pop(future))

    def _enter(self, future: Future[Any], place: int) -> None:
        if future.cancelled():
            raise WorkerFailure("closed", "The worker pool was closed before all solves were done.")
        job, error = self.jobs[place], future.exception()
        if error is None:
            result = SolveResult.model_validate(future.result())
            self.store.put_solve(self._key(place, result.machine), result.model_dump(mode="json"))
            self.solved[place] = Solved(job, result)
            if result.primal_bound is not None and result.violation is None:
                bound, maximise = result.primal_bound, result.maximise
                self.store.improve_objective(job.instance.digest, bound, maximise=maximise)
        elif not isinstance(error, WorkerFailure) or error.kind == "closed":
            raise error
        elif error.kind in ("died", "unmade") and place not in self.repeated:
            if self.note is not None:
                self.note(f"{error} It is repeated.")
            self.repeated.add(place)
            self._submit([place])
            return
        elif error.kind == "unmade":  # whatever was to be solved, and by which rule
            raise error
        else:
            by_rule = error.error_type == RuleError.__name__
            cause: Cause | None = "rule" if by_rule else "machine" if error.by_machine else None
            self.solved[place] = Solved(job, failure=str(error), cause=cause)
        name = self._claim(place)
        self.claimed.discard(name)  # another thread may claim it again
        self.store.claims.release([name])

    def _claim(self, place: int) -> str:
        return f"solve {self._key(place)}"

    def _key(self, place: int, machine: str = "") -> str:
        return hashlib.sha256(f"{self.jobs[place].key} {machine or self.machine}".encode()).hexdigest()
