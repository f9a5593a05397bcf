"""Solve every instance with every seed under every method, in an order that is fair to all of them.

Methods are interleaved: of one instance and seed, all methods are solved one right after the other on the same
core before the next instance is taken up, and which goes first rotates, so that a busy or slow moment of the
machine falls on all alike. Each solve is stored the moment it ends; an evaluation that was interrupted goes on
where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Final

from bife_core.benchmarks.base import Instance
from bife_core.evaluation.config import EvaluationConfig
from bife_core.evaluation.machine import Machine
from bife_core.methods.base import Method
from bife_core.methods.scip import ScipMethod
from bife_core.sandbox import Note, WorkerFailure, Workers
from bife_core.scip.solving import SolveResult, SolveSettings, solve
from bife_core.solves import SolveJob, SolveOutcome, SolveStore, work

_WORK: Final = "bife_core.evaluation.measuring:measured_work"


@dataclass(frozen=True)
class Setting:
    """Instances that are reported together, such as the test instances of one family.

    Attributes
    ----------
    name : str
        What tables call it, such as ``CA test``.
    instances : tuple of Instance
        In order.
    """

    name: str
    instances: tuple[Instance, ...]


@dataclass(frozen=True)
class Solve:
    """One cell of the protocol.

    Attributes
    ----------
    setting : str
        Name of the setting.
    method : str
        Label of the method.
    job : SolveJob
        What is solved, by one method.
    keys : tuple of str
        Keys it may be stored under; it is looked up in this order, and written under all of them.
    """

    setting: str
    method: str
    job: SolveJob
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """A solve of the protocol with its outcome; `result` names the method's label as its brancher.

    Where there is no result, `failure` says why, and `by_machine` whether the machine may have failed and not the
    method.
    """

    solve: Solve
    result: SolveResult | None
    failure: str | None
    reused: bool
    by_machine: bool = False


def labelled(methods: Sequence[Method]) -> dict[str, Method]:
    """Return methods by a label of their own; the same method given twice counts once.

    Examples
    --------
    >>> list(labelled([ScipMethod(name="pscost"), ScipMethod(name="relpscost"), ScipMethod(name="pscost")]))
    ['pscost', 'relpscost']
    """
    distinct = list({method.identity: method for method in reversed(methods)}.values())[::-1]
    names = [method.name for method in distinct]
    return {
        f"{method.name} ({method.identity[:6]})" if names.count(method.name) > 1 else method.name: method
        for method in distinct
    }


def protocol_solves(
    methods: dict[str, Method], settings: Sequence[Setting], config: EvaluationConfig, machine: Machine
) -> list[tuple[Solve, ...]]:
    """Return all solves in groups; those of a group run in turn on one core.

    Seeds are the outer loop, so that a run that stops early has seen as many instances as possible.
    """
    scope = evaluation_scope(methods, settings, config, machine)
    labels = list(methods)
    groups = []
    for setting in settings:
        for number, seed in enumerate(config.seeds):
            for position, instance in enumerate(setting.instances):
                first = (position + number) % len(labels)
                groups.append(
                    tuple(
                        _solve(setting, label, methods[label], instance, seed, config, scope, machine)
                        for label in labels[first:] + labels[:first]
                    )
                )
    return groups


def evaluation_scope(
    methods: dict[str, Method], settings: Sequence[Setting], config: EvaluationConfig, machine: Machine
) -> str:
    """Return the identity of an evaluation: equal methods, instances, settings and machine give equal ones."""
    facts = [
        [method.identity for method in methods.values()],
        [[setting.name, [instance.digest for instance in setting.instances]] for setting in settings],
        config.model_dump(mode="json"),
        machine.digest,
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _solve(
    setting: Setting,
    label: str,
    method: Method,
    instance: Instance,
    seed: int,
    config: EvaluationConfig,
    scope: str,
    machine: Machine,
) -> Solve:
    job = SolveJob.of(instance, [method], SolveSettings(time_limit_s=config.time_limit_s, seed=seed))
    keys = [_hash([scope, job.key])]
    if isinstance(method, ScipMethod):
        # Of SCIP's own rules the latest measurement on this machine is kept for other evaluations too.
        shared = _hash(["built-in", machine.digest, job.key])
        keys = [shared, *keys] if config.reuse_baseline else [*keys, shared]
    return Solve(setting.name, label, job, tuple(keys))


def _hash(facts: list[str]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def measure(
    groups: Sequence[tuple[Solve, ...]],
    config: EvaluationConfig,
    pool: Workers,
    store: SolveStore,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
) -> list[Measured]:
    """Do the solves that are not stored yet, and return all in the order given.

    A failure is an outcome but is not stored: the next run tries again. A solve whose worker is lost is repeated
    once, and `note` is told.

    Parameters
    ----------
    progress : callable
        Called with (done, of how many), first with what was reused.

    Raises
    ------
    WorkerFailure
        If the pool is closed meanwhile.
    OSError
        If an outcome cannot be stored.
    """
    solves = [solve for group in groups for solve in group]
    found = {solve.keys: outcome for solve in solves if (outcome := _stored(solve, config, store))}
    reused = set(found)
    waiting: dict[Future[Any], Solve] = {}
    for group in groups:
        missing = [solve for solve in group if solve.keys not in reused]
        if missing:
            waiting |= zip(_submit(pool, missing, config), missing, strict=True)
    if progress is not None:
        progress(len(found), len(solves))
    repeated: set[tuple[str, ...]] = set()
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            solve = waiting.pop(future)
            if future.cancelled():
                raise WorkerFailure("closed", "The worker pool was closed before all solves were done.")
            failure = future.exception()
            if isinstance(failure, WorkerFailure) and failure.kind == "closed":
                raise failure
            if isinstance(failure, WorkerFailure) and failure.kind == "died" and solve.keys not in repeated:
                if note is not None:
                    note(f"{failure} It is repeated.")
                repeated.add(solve.keys)
                waiting[_submit(pool, [solve], config)[0]] = solve
                continue
            found[solve.keys] = _outcome(future, solve, store)
            if progress is not None:
                progress(len(found), len(solves))
    return [_measured(solve, found[solve.keys], solve.keys in reused) for solve in solves]


def _submit(pool: Workers, solves: Sequence[Solve], config: EvaluationConfig) -> list[Future[Any]]:
    calls = [{"warm_up_s": config.warm_up_s, **solve.job.model_dump(mode="json")} for solve in solves]
    limit_s = max(solve.job.limit_s for solve in solves) + 10.0 * config.warm_up_s
    return pool.submit_in_turn(_WORK, calls, limit_s=limit_s, reads=[solve.job.path for solve in solves])


def _stored(solve: Solve, config: EvaluationConfig, store: SolveStore) -> SolveOutcome | None:
    # The shared key of a built-in comes second unless reuse was asked for, and is then only written.
    keys = solve.keys if config.reuse_baseline else solve.keys[:1]
    return next((outcome for key in keys if (outcome := store.get(key)) is not None), None)


def _outcome(future: Future[Any], solve: Solve, store: SolveStore) -> SolveOutcome:
    try:
        outcome = SolveOutcome.model_validate(future.result())
    except WorkerFailure as failure:
        return SolveOutcome(failure=str(failure), by_machine=failure.by_machine)
    if outcome.failure is None:
        for key in solve.keys:
            store.put(key, outcome)
    return outcome


def _measured(solve: Solve, outcome: SolveOutcome, reused: bool) -> Measured:
    # A stored solve may have been made under another name.
    named = {"brancher": solve.method}
    result = outcome.results[0].model_copy(update=named) if outcome.results else None
    return Measured(solve, result, outcome.failure, reused, outcome.by_machine)


_warm = False


def measured_work(warm_up_s: float, **job: Any) -> dict[str, Any]:
    """Run one job in this process, after an unmeasured solve if it is the first; what workers are sent.

    The first solve of a process pays for loading compiled code and for a cold cache, which is no method's fault.
    """
    global _warm
    if warm_up_s > 0 and not _warm:
        todo = SolveJob.model_validate(job)
        solve(todo.path, "most_fractional", time_limit_s=warm_up_s, seed=todo.settings.seed)
    _warm = True
    return work(**job)
