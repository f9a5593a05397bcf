"""Solves that were paid for: done in pinned worker processes, on disk before they are used, never done twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import Any

from bife_core.benchmarks.base import Instance
from bife_core.errors import BifeError, RuleError, SolverError
from bife_core.files import write_whole
from bife_core.methods.base import AnyMethod, Method
from bife_core.sandbox import Note, WorkerFailure, Workers, submit_repeated
from bife_core.scip.solving import INTERRUPTED, SolveResult, SolveSettings, solve, versions
from bife_core.values import Value

_GRACE_S = 30.0
"""Wall seconds beyond twice the CPU limit a worker may take: reading the model, presolving, a shared core."""


class SolveOutcome(Value):
    """Results of the solves of one job in order, or the reason there are none.

    Attributes
    ----------
    by_rule : bool
        Whether the failure is an error of the rule, which no other method would have met.
    by_machine : bool
        Whether the machine may have failed and neither the rule nor the model.
    """

    results: tuple[SolveResult, ...] = ()
    failure: str | None = None
    by_rule: bool = False
    by_machine: bool = False


class SolveStore:
    """Finished solves by key, one JSON file each.

    Parameters
    ----------
    directory : Path
        Made when the first solve is stored.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path_of(self, key: str) -> Path:
        """Return where the outcome of a key lies once it is stored."""
        return self.directory / key[:2] / f"{key}.json"

    def get(self, key: str) -> SolveOutcome | None:
        """Return a stored outcome, or None. A file that cannot be read counts as none and is written anew."""
        try:
            return SolveOutcome.model_validate_json(self.path_of(key).read_text())
        except (FileNotFoundError, ValueError):
            return None

    def put(self, key: str, outcome: SolveOutcome) -> None:
        """Store an outcome at once or not at all."""
        write_whole(self.path_of(key), outcome.model_dump_json())


class OutOfTimeError(BifeError):
    """The time for solves was up before all were done; those that were are stored."""


class SolveJob(Value):
    """Solves of one instance that run one after the other on the same core."""

    instance: str
    path: Path
    instance_digest: str
    methods: tuple[AnyMethod, ...]
    settings: SolveSettings

    @classmethod
    def of(cls, instance: Instance, methods: Sequence[Method], settings: SolveSettings) -> SolveJob:
        """Return the job for an instance of a benchmark."""
        return cls(
            instance=instance.name,
            path=instance.path,
            instance_digest=instance.digest,
            methods=tuple(methods),
            settings=settings,
        )

    @property
    def key(self) -> str:
        """Hash of all a result depends on but the machine."""
        facts = {
            "digest": self.instance_digest,
            "methods": [method.identity for method in self.methods],
            "settings": self.settings.model_dump(mode="json"),
            "scip": versions()["scip"],
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @property
    def limit_s(self) -> float:
        """Wall seconds after which the worker is killed."""
        per_solve = self.settings.time_limit_s or 86_400.0
        return len(self.methods) * (2.0 * per_solve + _GRACE_S)


def run_jobs(
    jobs: Sequence[SolveJob],
    store: SolveStore,
    pool: Workers,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
    *,
    until_unix_s: float | None = None,
) -> list[SolveOutcome]:
    """Run the jobs that are not in the store, and return the outcomes of all in order.

    Every outcome is stored the moment its worker answers, whichever job it belongs to. A failure is an outcome, but
    is not stored: the next run tries again. A job whose worker is lost is repeated once, and `note` is told.

    Raises
    ------
    OutOfTimeError
        If jobs are left at `until_unix_s`, seconds since 1970; those under way then are dropped.
    WorkerFailure
        If the pool is closed meanwhile.
    OSError
        If an outcome cannot be stored.
    """
    outcomes: dict[int, SolveOutcome] = {}
    waiting: dict[Future[Any], int] = {}
    for position, job in enumerate(jobs):
        stored = store.get(job.key)
        if stored is not None:
            outcomes[position] = stored
            continue
        if until_unix_s is not None and time.time() >= until_unix_s:
            continue
        future = submit_repeated(
            pool,
            "bife_core.solves:work",
            job.model_dump(mode="json"),
            limit_s=job.limit_s,
            note=note,
            reads=[job.path],
        )
        waiting[future] = position
    for future in _completed(waiting, until_unix_s):
        position = waiting[future]
        try:
            outcome = SolveOutcome.model_validate(future.result())
            if outcome.failure is None:
                store.put(jobs[position].key, outcome)
        except WorkerFailure as failure:
            if failure.kind == "closed":
                raise
            by_rule = failure.error_type == RuleError.__name__
            outcome = SolveOutcome(failure=str(failure), by_rule=by_rule, by_machine=failure.by_machine)
        outcomes[position] = outcome
        if progress is not None:
            progress(len(outcomes), len(jobs))
    if len(outcomes) < len(jobs):
        raise OutOfTimeError(f"The time was up before {len(jobs) - len(outcomes)} of {len(jobs)} solves.")
    return [outcomes[position] for position in range(len(jobs))]


def _completed(waiting: Iterable[Future[Any]], until_unix_s: float | None) -> Iterator[Future[Any]]:
    """Yield futures as they complete, until the time is up; those that are left are cancelled."""
    waiting = list(waiting)
    left_s = None if until_unix_s is None else max(until_unix_s - time.time(), 0.0)
    try:
        yield from as_completed(waiting, timeout=left_s)
    except TimeoutError:
        for future in waiting:
            future.cancel()


def work(**job: Any) -> dict[str, Any]:
    """Run one job in this process; what `run_jobs` calls in a worker."""
    todo = SolveJob.model_validate(job)
    results = []
    for method in todo.methods:
        result = solve(todo.path, method, settings=todo.settings)
        if result.status in INTERRUPTED:
            raise SolverError(f"The solve of {todo.instance} under {method.name} was interrupted.")
        results.append(result.model_copy(update={"instance": todo.instance}))
    return SolveOutcome(results=tuple(results)).model_dump(mode="json")
