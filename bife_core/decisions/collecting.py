"""Collect strong-branching decisions: parallel over instances, resumable, the same whatever the timing."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias

from bife_core.benchmarks.base import Benchmark, Instance
from bife_core.decisions.config import CollectionConfig
from bife_core.decisions.expert import record_decisions
from bife_core.decisions.recorded import SCHEMA_VERSION, Decisions, concatenate
from bife_core.errors import DecisionsError
from bife_core.features import N_FEATURES
from bife_core.files import write_whole
from bife_core.places import compiled_code
from bife_core.sandbox import Note, WorkerFailure, Workers
from bife_core.scip.solving import SolveSettings, versions
from bife_core.values import Value, digest_of

_Part: TypeAlias = tuple[Decisions, dict[str, Any]]
"""The decisions of an instance, and how its solve went."""

_GRACE_S = 60.0
"""Wall seconds beyond twice the CPU limit before a collecting worker is killed."""


class CollectionSummary(Value):
    """Where the decisions are and what they are made of.

    Attributes
    ----------
    path : Path
        The merged file.
    digest : str
        Hash of its content.
    tie_share : float
        Share of decisions whose best score several candidates have.
    pruned_share, tightenable_share : float
        Share of decisions at whose node strong branching had nothing left to decide, and of those where it could have
        tightened a bound instead of branching; see `Decisions`.
    instances : tuple of str
        Names of the instances that were solved for them, in order, those without a decision included.
    failures : tuple of str
        One sentence per instance that could not be solved.
    cpu_s : float
        CPU seconds the solves took in which the decisions were recorded, whenever that was.
    notes : tuple of str
        A sentence on the instances that were solved and gave no decision, if there are any.
    """

    path: Path
    digest: str
    decisions: int
    candidates: int
    tie_share: float
    pruned_share: float
    tightenable_share: float
    instances: tuple[str, ...]
    failures: tuple[str, ...]
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()


def _part_path(directory: Path, instance: Instance, config: CollectionConfig) -> Path:
    facts = {
        "digest": instance.digest,
        "quota": config.decisions_per_instance,
        "time_limit_s": config.time_limit_s,
        "seed": config.seed,
        "solver": config.solver.model_dump(mode="json"),
        "columns": N_FEATURES,
        "schema": SCHEMA_VERSION,
        "scip": versions()["scip"],
    }
    key = digest_of(facts)[:24]
    return directory / "parts" / f"{key}.npz"


def _end_path(part: Path) -> Path:
    """Return the file that tells how the solve behind a part went."""
    return part.with_suffix(".json")


def _why_nothing(end: dict[str, Any]) -> str:
    """Return in a few words why a solve gave no decision."""
    if end["unscored"] and end["status"] == "timelimit":
        return "reached the time limit in LPs of strong branching"
    if end["unscored"]:
        return "LPs of strong branching could not be solved"
    return f"{end['status']} without a choice between two candidates"


def _sentence(reasons: Sequence[str]) -> str:
    """Return a sentence that counts instances by the reason they gave no decision for."""
    counted = "; ".join(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return f"{len(reasons)} instances gave no decision ({counted})."


def collect_decisions(
    benchmark: Benchmark,
    config: CollectionConfig,
    directory: Path | str,
    pool: Workers,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
) -> CollectionSummary:
    """Record decisions on the collection instances until there are enough, and merge them into one file.

    Instances are taken in the benchmark's order, and decisions of an instance count only once those of all earlier
    ones do, so the result does not depend on which worker is faster. What an instance gave is on disk before it is
    used; a second call with the same arguments solves nothing. An instance whose worker is lost is solved once more.

    Parameters
    ----------
    benchmark : Benchmark
        Its ``collection`` split is solved.
    config : CollectionConfig
    directory : Path or str
        Parts and the merged file go here.
    pool : Workers
    progress : callable, optional
        Called with (decisions so far, decisions wanted).
    note : callable, optional
        Told of instances that are solved once more, and why.

    Raises
    ------
    DecisionsError
        If no instance gave a decision, with the reasons.
    WorkerFailure
        If the pool is closed meanwhile.
    """
    directory = Path(directory)
    waiting = _instances(benchmark, config.max_instances, pool.workers)
    running: deque[tuple[Instance, Path, _Part | Future[Any]]] = deque()
    names: list[str] = []
    failures: list[str] = []
    yielded_nothing: list[str] = []
    parts: list[Decisions] = []
    total = 0
    cpu_s = 0.0
    while total < config.decisions:
        # A solve that turns out not to be needed would hold a worker that others wait for.
        usual = total / len(names) if names else config.decisions_per_instance
        likely = ceil((config.decisions - total) / usual) if usual else pool.workers
        for instance in islice(waiting, max(min(pool.workers, likely) - len(running), 0)):
            path = _part_path(directory, instance, config)
            known = _known(path, note) or _start(pool, instance, path, config, note)
            running.append((instance, path, known))
        if not running:
            break
        instance, path, known = running.popleft()
        names.append(instance.name)
        try:
            if isinstance(known, Future):
                known.result()
                known = _read(path)
        except WorkerFailure as failure:
            if failure.kind == "closed":
                raise
            failures.append(f"{instance.name}: {failure}")
            continue
        part, end = known
        if len(part) == 0:
            yielded_nothing.append(_why_nothing(end))
        parts.append(part)
        cpu_s += end["cpu_s"]
        total += len(part)
        if progress is not None:
            progress(min(total, config.decisions), config.decisions)
    for _, _, known in running:
        if isinstance(known, Future):
            known.cancel()
    notes = (_sentence(yielded_nothing),) if yielded_nothing else ()
    if total == 0:
        raise DecisionsError(
            f"No strong-branching decision came from {len(names)} collection instances. "
            f"{' '.join([*failures, *notes])} What could help: more time for each (collection.time_limit_s, "
            f"{config.time_limit_s:g} s now), models that take more branching, or a search that needs no decisions "
            "(--search bife_without_f_lf)."
        )
    decisions = concatenate(parts)[: config.decisions]
    merged = directory / f"decisions-{decisions.digest}.npz"
    if not _intact(merged):
        decisions.save(merged)
    return CollectionSummary(
        path=merged,
        digest=decisions.digest,
        decisions=len(decisions),
        candidates=decisions.n_candidates,
        tie_share=decisions.tie_share,
        pruned_share=float(decisions.pruned.mean()),
        tightenable_share=float(decisions.tightenable.mean()),
        instances=tuple(names),
        failures=tuple(failures),
        cpu_s=cpu_s,
        notes=notes,
    )


def _instances(benchmark: Benchmark, limit: int, step: int) -> Iterator[Instance]:
    """Give the collection instances one by one, generating few more than are asked for."""
    given = 0
    while given < limit:
        instances = benchmark.instances("collection", min(given + step, limit))[given:]
        if not instances:
            return
        yield from instances
        given += len(instances)


def _read(part: Path) -> _Part:
    return Decisions.load(part), json.loads(_end_path(part).read_text())


def _known(part: Path, note: Note | None) -> _Part | None:
    """Return a part that is there already; one that cannot be read is removed, to be made anew."""
    if not part.exists():
        return None
    try:
        return _read(part)
    except (DecisionsError, OSError, ValueError) as error:
        part.unlink()
        if note is not None:
            note(f"{part.name} cannot be used ({error}): its instance is solved once more.")
        return None


def _intact(merged: Path) -> bool:
    """Whether there is a merged file, and one that can be read."""
    try:
        Decisions.load(merged)
    except DecisionsError:
        return False
    return True


def _start(
    pool: Workers,
    instance: Instance,
    part: Path,
    config: CollectionConfig,
    note: Note | None,
) -> Future[Any]:
    arguments = {
        "path": str(instance.path),
        "instance": instance.name,
        "part": str(part),
        "config": config.model_dump(mode="json"),
    }
    limit_s = 2.0 * config.time_limit_s + _GRACE_S
    written = [part.parent, compiled_code()]
    for directory in written:
        directory.mkdir(parents=True, exist_ok=True)
    return pool.submit(
        "bife_core.decisions.collecting:work",
        arguments,
        limit_s=limit_s,
        reads=[instance.path],
        writes=written,
        note=note,
    )


def work(path: str, instance: str, part: str, config: dict[str, Any]) -> dict[str, Any]:
    """Collect from one instance in this process; what `collect_decisions` calls in a worker."""
    options = CollectionConfig.model_validate(config)
    began = time.process_time()
    recording = record_decisions(
        Path(path),
        instance,
        settings=SolveSettings(solver=options.solver, time_limit_s=options.time_limit_s, seed=options.seed),
        quota=options.decisions_per_instance,
    )
    end = {
        "status": recording.status,
        "unscored": recording.unscored,
        "cpu_s": time.process_time() - began,
    }
    # Before the part itself: where there is a part, there is how it came about.
    write_whole(_end_path(Path(part)), json.dumps(end))
    recording.decisions.save(Path(part))
    return end
