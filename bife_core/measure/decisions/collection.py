"""Collect strong-branching decisions: parallel over instances, resumable, the same whatever the timing."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bife_core.base.arguments import checked
from bife_core.base.errors import DecisionsError
from bife_core.base.files import write_whole
from bife_core.base.places import compiled_code, usable
from bife_core.base.values import Value, digest_of
from bife_core.instances.base import Benchmark, Instance
from bife_core.language.components import BRANCHING
from bife_core.measure.decisions.config import CollectionConfig
from bife_core.measure.decisions.expert import record_decisions
from bife_core.measure.decisions.nodes import index_beside, save_nodes
from bife_core.measure.decisions.recorded import SCHEMA_VERSION, Decisions, concatenate
from bife_core.measure.solves import code_beforehand
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings, versions
from bife_core.solver.starts.method import StartMethod
from bife_core.workers import Note, WorkerFailure, Workers

_GRACE_S = 60.0  # wall seconds beyond four times the CPU limit before a collecting worker is killed


class CollectionSummary(Value):
    """Where the decisions are and what they are made of.

    `digest` is that of the merged file at `path`, and shares are of its decisions (see `Decisions`). `failures` has a
    sentence for each instance that could not be solved, `notes` for each without decisions. Of the files of `nodes` the
    last may hold more than was merged.
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
    digests: tuple[str, ...] = ()
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()
    nodes: tuple[Path, ...] = ()


class _Part(NamedTuple):
    """The decisions of an instance, and status, unscored nodes and CPU seconds of its solve."""

    decisions: Decisions
    end: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> _Part:
        return cls(Decisions.load(path), json.loads(path.with_suffix(".json").read_text()))

    @property
    def why_nothing(self) -> str:
        """Why the solve gave no decision."""
        if self.end["unscored"] and self.end["status"] == "timelimit":
            return "reached the time limit in LPs of strong branching"
        if self.end["unscored"]:
            return "LPs of strong branching could not be solved"
        return f"{self.end['status']} without a choice between two candidates"


@checked
def collect_decisions(
    benchmark: Benchmark,
    config: CollectionConfig,
    directory: Path | str,
    pool: Workers,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
    solver: SolverConfig | None = None,
    rest: Configuration | None = None,
) -> CollectionSummary:
    """Record decisions on the instances of the split ``collection`` until there are enough, and merge them.

    Instances count in the benchmark's order, so the result does not depend on the speed of workers. A second call with
    the same arguments solves nothing. An instance whose worker is lost is solved once more, with a `note`.

    Parameters
    ----------
    directory : Path or str
        Folder of the parts and of the merged file.
    progress : callable, optional
        Called with (decisions so far, decisions wanted).
    solver : SolverConfig, optional
        The settings that rules are to run under; SCIP's defaults by default.
    rest : Configuration, optional
        Configuration that the rules are for; its start and inequalities count.

    Raises
    ------
    DecisionsError, WorkerFailure
        If no instance gave a decision, with the reasons; if the pool is closed meanwhile.
    """
    directory, under = Path(directory), {"solver": (solver or SolverConfig()).model_dump(mode="json")}
    under |= {} if rest is None else {"rest": rest.model_dump(mode="json")}
    waiting = _instances(benchmark, config.max_instances, pool.workers)
    running: deque[tuple[Instance, Path, Future[Any] | None]] = deque()
    solved: list[Instance] = []
    failures: list[str] = []
    parts: list[_Part] = []
    nodes: list[Path] = []
    total = 0
    while total < config.decisions:
        # A solve that turns out not to be needed would hold a worker that others wait for.
        usual = total / len(solved) if solved else config.decisions_per_instance
        likely = math.ceil((config.decisions - total) / usual) if usual else pool.workers
        for instance in islice(waiting, max(min(pool.workers, likely) - len(running), 0)):
            path = _part_path(directory, instance, config, under | code_beforehand(rest))
            solve = None if _intact(path, note) else _start(pool, instance, path, config, under, note)
            running.append((instance, path, solve))
        if not running:
            break
        instance, path, solve = running.popleft()
        solved.append(instance)
        try:
            if solve is not None:
                solve.result()
        except WorkerFailure as failure:
            if failure.kind == "closed":
                raise
            failures.append(f"{instance.name}: {failure}")
            continue
        parts.append(_Part.load(path))
        if config.nodes and len(parts[-1].decisions):
            nodes.append(nodes_beside(path))
        total += len(parts[-1].decisions)
        if progress is not None:
            progress(min(total, config.decisions), config.decisions)
    for *_, solve in running:
        if solve is not None:
            solve.cancel()
    reasons = Counter(part.why_nothing for part in parts if len(part.decisions) == 0)
    counted = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
    notes = (f"{reasons.total()} instances gave no decision ({counted}).",) if reasons else ()
    if total == 0:
        raise DecisionsError(
            f"No strong-branching decision came from {len(solved)} collection instances. "
            f"{' '.join([*failures[:3], *notes])} More time for each may help (collection.time_limit_s, "
            f"{config.time_limit_s:g} s now), or a search that needs no decisions (--search bife_without_f_lf)."
        )
    decisions = concatenate([part.decisions for part in parts])[: config.decisions]
    merged = directory / f"decisions-{decisions.digest}.npz"
    decisions.save(merged)
    if nodes:
        names = [node.relative_to(directory).as_posix() for node in nodes]
        write_whole(index_beside(merged), json.dumps(names))
    return CollectionSummary(
        path=merged,
        digest=decisions.digest,
        decisions=len(decisions),
        candidates=decisions.n_candidates,
        tie_share=decisions.tie_share,
        pruned_share=float(decisions.pruned.mean()),
        tightenable_share=float(decisions.tightenable.mean()),
        instances=tuple(instance.name for instance in solved),
        failures=tuple(failures),
        digests=tuple(instance.digest for instance in solved),
        cpu_s=math.fsum(part.end["cpu_s"] for part in parts),
        notes=notes,
        nodes=tuple(nodes),
    )


def nodes_beside(part: Path) -> Path:
    """Return the path of the nodes of a part's decisions."""
    return part.with_suffix(".nodes.npz")


def _part_path(directory: Path, instance: Instance, config: CollectionConfig, under: dict[str, Any]) -> Path:
    facts = {
        "digest": instance.digest,
        "quota": config.decisions_per_instance,
        "time_limit_s": config.time_limit_s,
        "columns": BRANCHING.n_features,
        "schema": SCHEMA_VERSION,
        "scip": versions()["scip"],
        **under,
    } | config.model_dump(include={"share", "nodes"}, exclude_defaults=True)
    return directory / "parts" / f"{digest_of(facts)[:24]}.npz"


def _instances(benchmark: Benchmark, limit: int, step: int) -> Iterator[Instance]:
    """Yield the collection instances, generated `step` at a time."""
    for start in range(0, limit, step):
        instances = benchmark.instances("collection", min(start + step, limit))[start:]
        if not instances:
            return
        yield from instances


def _intact(part: Path, note: Note | None) -> bool:
    if not part.exists():
        return False
    try:
        _Part.load(part)
    except (DecisionsError, OSError, ValueError) as error:
        if note is not None:
            note(f"{part.name} cannot be used ({error}): its instance is solved once more.")
        return False
    return True


def _start(
    pool: Workers,
    instance: Instance,
    part: Path,
    config: CollectionConfig,
    under: dict[str, Any],
    note: Note | None,
) -> Future[Any]:
    part.parent.mkdir(parents=True, exist_ok=True)
    start = under.get("rest", {}).get("start") or {}
    if start:
        StartMethod.model_validate(start).prepare()
    facts = {"path": str(instance.path), "instance": instance.name, "part": str(part)}
    return pool.submit(
        f"{__name__}:collect_from",
        facts | {"config": config.model_dump(mode="json"), **under},
        limit_s=4.0 * config.time_limit_s + _GRACE_S,  # a small tree is solved twice
        reads=[instance.path],
        writes=[part.parent, usable(compiled_code())],
        processes=bool(start.get("source")),
        note=note,
    )


def collect_from(
    path: str,
    instance: str,
    part: str,
    config: dict[str, Any],
    solver: dict[str, Any],
    rest: dict[str, Any] | None = None,
) -> None:
    """Collect from one instance in this process: what a worker does for `collect_decisions`."""
    options = CollectionConfig.model_validate(config)
    began = time.process_time()
    recording = record_decisions(
        Path(path),
        instance,
        settings=SolveSettings.model_validate({"solver": solver, "time_limit_s": options.time_limit_s}),
        quota=options.decisions_per_instance,
        share=options.share,
        observe=options.nodes,
        rest=None if rest is None else Configuration.model_validate(rest),
    )
    seconds = time.process_time() - began
    end = {"status": recording.status, "unscored": recording.unscored, "cpu_s": seconds}
    # Before the part itself, which is taken for complete.
    write_whole(Path(part).with_suffix(".json"), json.dumps(end))
    if recording.nodes:
        save_nodes(nodes_beside(Path(part)), recording.nodes)
    recording.decisions.save(Path(part))
