"""Run solves: each once, stored before it is used, and with the cause of a failure.

A solve without a result is the fault of the rule, of the instance or of the machine. Where something other than the
rule may have ended the worker, RPB solves the same instance: if the machine fails RPB too, nothing is known of the rule
and the caller must try again later; if not, the rule is tried once more, and that outcome counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final
from weakref import WeakKeyDictionary

from bife_core.errors import BifeError, RuleError
from bife_core.machine import here
from bife_core.methods.base import ScipMethod
from bife_core.sandbox import Note, WorkerFailure, Workers
from bife_core.scip.builtin import RPB
from bife_core.solves.jobs import Solve, SolveJob, SolveOutcome
from bife_core.store import Store

_WORK: Final = "bife_core.solves.jobs:work"
_CONTROL: Final = ScipMethod(name=RPB)
_ANSWER_S: Final = 300.0
_POLL_S: Final = 0.5

_known_machines: WeakKeyDictionary[Workers, str] = WeakKeyDictionary()


class OutOfTimeError(BifeError):
    """The time for solves was up before all were done; those that were are stored."""


@dataclass(frozen=True)
class Solved:
    """What became of a solve.

    Attributes
    ----------
    reused : bool
        Whether it was found in the store.
    borrowed : bool
        Whether it was found under another key than the first, which is its own.
    clear : bool
        Whether it is known whose fault a failure is; nothing is found out of a rule that has already failed by its own
        doing on another instance.
    rpb_failure : str or None
        Why RPB has no result on the instance either; None where it has one, or was not asked.
    """

    solve: Solve
    outcome: SolveOutcome
    reused: bool = False
    borrowed: bool = False
    clear: bool = True
    rpb_failure: str | None = None

    @property
    def rules_fault(self) -> str | None:
        """What the rule did wrong, as a sentence; None if nothing is known against it."""
        if self.outcome.failure is None or self.rpb_failure is not None or not self.clear:
            return None
        told = f"{self.solve.job.instance}: {self.outcome.failure}"
        return told if self.outcome.by_rule else f"{told} RPB does not fail there."


@dataclass
class _Run:
    """What all solves of one call have in common."""

    store: Store
    pool: Workers
    warm_up_s: float
    note: Note | None
    until_unix_s: float | None
    machine: str

    def submit(self, jobs: Sequence[SolveJob]) -> list[Future[Any]]:
        warm = {"warm_up_s": self.warm_up_s} if self.warm_up_s else {}
        return self.pool.submit_batch(
            _WORK,
            [{**warm, **job.model_dump(mode="json")} for job in jobs],
            limit_s=max(job.limit_s for job in jobs) + 10.0 * self.warm_up_s,
            reads=[job.path for job in jobs],
        )

    def find(self, solve: Solve) -> Solved | None:
        keys = solve.keys(solve.found_under, self.machine)
        stored = self.store.get_solve(keys)
        for place, key in enumerate(keys):
            if key in stored:
                outcome = SolveOutcome.model_validate(stored[key]).called(solve.job)
                return Solved(solve, outcome, reused=True, borrowed=place > 0)
        return None

    def keep(self, solve: Solve, outcome: SolveOutcome) -> None:
        machine = outcome.result.machine if outcome.result is not None else ""
        keys = solve.keys(solve.stored_under, machine or self.machine)
        self.store.put_solve(keys, outcome.model_dump(mode="json"))

    def claim_of(self, solve: Solve) -> str:
        return f"solve {solve.keys(solve.stored_under, self.machine)[0]}"

    def patience_s(self, poll: bool) -> float | None:
        """Return how long to wait for the next result, in seconds; None is without limit."""
        left_s = None if self.until_unix_s is None else max(self.until_unix_s - time.time(), 0.0)
        return left_s if not poll else min(_POLL_S, left_s if left_s is not None else _POLL_S)

    def over(self) -> bool:
        return self.until_unix_s is not None and time.time() >= self.until_unix_s


def run_solves(
    groups: Sequence[Sequence[Solve]],
    store: Store,
    pool: Workers,
    *,
    warm_up_s: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
    until_unix_s: float | None = None,
    machine_may_fail: bool = False,
) -> list[Solved]:
    """Do the solves that are not in the store, and return what became of all, in order.

    Every result is stored the moment its worker answers, and found again by the same machine; another machine's seconds
    are not this one's. A failure is an outcome, but is not stored: the next run
    tries again. A solve whose worker is lost is repeated once, and `note` is told.

    Parameters
    ----------
    groups : sequence of sequences of Solve
        Those of a group are done one right after the other on the same core.
    warm_up_s : float
        CPU seconds each worker spends on an unmeasured solve first.
    progress : callable
        Called with (done, of how many), first with what was found.
    until_unix_s : float or None
        No solve is waited for after that time, in seconds since 1970.
    machine_may_fail : bool
        Whether a machine that fails RPB too is an outcome, rather than an error.

    Raises
    ------
    WorkerFailure
        If the pool is closed meanwhile, or the machine fails RPB as well: no worker can be started, say.
    OutOfTimeError
        If solves are left when the time is up; those under way then are dropped.
    OSError
        If a result cannot be stored.
    """
    run = _Run(store, pool, warm_up_s, note, until_unix_s, _machine_of(pool))
    solved = _done(groups, run, progress)
    own_fault = {one.solve.job.method.identity for one in solved if one.outcome.by_rule}
    known = {_control_of(one): one.outcome for one in solved if one.solve.job.method.identity == RPB}
    unclear = [
        position
        for position, one in enumerate(solved)
        if one.outcome.failure is not None and not one.outcome.by_rule
    ]
    asked = []
    for position in unclear:
        if solved[position].solve.job.method.identity in own_fault:
            solved[position] = replace(solved[position], clear=False)
        elif _control_of(solved[position]) not in known:
            asked.append(solved[position].solve.job.under(_CONTROL))
    controls = {job.key: Solve.of(job) for job in asked}
    known |= {_control_of(one): one.outcome for one in _done([[solve] for solve in controls.values()], run)}
    again = []
    for position in unclear:
        one = solved[position]
        control = known.get(_control_of(one))
        if control is None:
            continue
        if control.by_machine and not machine_may_fail:
            reason = f"{one.solve.job.instance} could not be solved: {control.failure}"
            raise WorkerFailure("died", reason, by_machine=True)
        solved[position] = replace(one, rpb_failure=control.failure)
        if one.outcome.by_machine and control.failure is None:
            again.append(position)
    repeated = _done([[solved[position].solve] for position in again], run)
    for position, one in zip(again, repeated, strict=True):
        solved[position] = one
    return solved


def _machine_of(pool: Workers) -> str:
    """Return the machine whose seconds count; of several that serve one pool, the first that answers."""
    if not pool.remote:
        return here()
    if pool not in _known_machines:
        _known_machines[pool] = str(pool.submit("bife_core.machine:here", {}, limit_s=_ANSWER_S).result())
    return _known_machines[pool]


def _control_of(one: Solved) -> str:
    """Return the key of RPB's solve of the same instance with the same settings."""
    return one.solve.job.under(_CONTROL).key


def _done(
    groups: Sequence[Sequence[Solve]], run: _Run, progress: Callable[[int, int], None] | None = None
) -> list[Solved]:
    """Do solves without asking what caused a failure."""
    solves = list(chain.from_iterable(groups))
    found: dict[int, Solved] = {}
    waiting: dict[Future[Any], int] = {}
    elsewhere: list[int] = []  # another thread or process is at these; its result will be ours
    repeated: set[int] = set()
    begun: set[str] = set()

    def begin(places: Sequence[int]) -> list[int]:
        """Submit those of the solves that nobody is at, and return the others."""
        taken = run.store.claims.take([run.claim_of(solves[place]) for place in places])
        begun.update(taken)
        own = [place for place in places if run.claim_of(solves[place]) in taken]
        # Another process may have stored its result between the look-up and the claim.
        found.update((place, stored) for place in own if (stored := run.find(solves[place])) is not None)
        new = [place for place in own if place not in found]
        if new:
            waiting.update(zip(run.submit([solves[place].job for place in new]), new, strict=True))
        return [place for place in places if place not in own]

    try:
        position = 0
        for group in groups:
            missing = []
            for solve in group:
                stored = run.find(solve)
                if stored is not None:
                    found[position] = stored
                else:
                    missing.append(position)
                position += 1
            if missing and not run.over():
                elsewhere += begin(missing)
        if progress is not None:
            progress(len(found), len(solves))
        while (waiting or elsewhere) and not (run.over() and not waiting):
            finished = wait(
                waiting, timeout=run.patience_s(bool(elsewhere)), return_when=FIRST_COMPLETED
            ).done
            if not finished and run.over():
                for future in waiting:
                    future.cancel()
                break
            for future in finished:
                place = waiting.pop(future)
                failure = _failure(future)
                if failure is not None and failure.kind == "closed":
                    raise failure
                if failure is not None and failure.kind == "died" and place not in repeated:
                    if run.note is not None:
                        run.note(f"{failure} It is repeated.")
                    repeated.add(place)
                    waiting[run.submit([solves[place].job])[0]] = place
                    continue
                found[place] = Solved(solves[place], _outcome(future, failure, solves[place], run))
                run.store.claims.release([run.claim_of(solves[place])])
                if progress is not None:
                    progress(len(found), len(solves))
            there = {place: one for place in elsewhere if (one := run.find(solves[place])) is not None}
            found |= there
            elsewhere = begin([place for place in elsewhere if place not in there]) if elsewhere else []
    finally:
        run.store.claims.release(begun)
    if len(found) < len(solves):
        raise OutOfTimeError(f"The time was up before {len(solves) - len(found)} of {len(solves)} solves.")
    return [found[place] for place in range(len(solves))]


def _failure(future: Future[Any]) -> WorkerFailure | None:
    if future.cancelled():
        return WorkerFailure("closed", "The worker pool was closed before all solves were done.")
    failure = future.exception()
    if failure is not None and not isinstance(failure, WorkerFailure):
        raise failure
    return failure


def _outcome(future: Future[Any], failure: WorkerFailure | None, solve: Solve, run: _Run) -> SolveOutcome:
    if failure is not None:
        by_rule = failure.error_type == RuleError.__name__
        return SolveOutcome(failure=str(failure), by_rule=by_rule, by_machine=failure.by_machine)
    outcome = SolveOutcome.model_validate(future.result())
    run.keep(solve, outcome)
    return outcome
