"""Watching a champion: it and RPB on new instances, in a stream whose bound holds whenever one looks at it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bife_core.base.stats import CONFIDENCE
from bife_core.base.values import Value, digest_of
from bife_core.base.wording import counted
from bife_core.instances.base import Instance, digest_of_file, marks
from bife_core.measure.evaluation.comparison import Comparison, compare_pair
from bife_core.measure.evaluation.metrics import METRICS, solve_frame
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.registry.base import PromotionError
from bife_core.registry.choosing import registered_name
from bife_core.run.config import PipelineConfig
from bife_core.run.show.report import Story
from bife_core.run.stages.conclusions import comparison_link
from bife_core.run.stages.evaluate import measure, record_evaluation
from bife_core.run.stages.held_out import own_test_instances
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.scip.cost import Cost
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveResult
from bife_core.store.store import Served

CHAMPION_SLOWER: Final = "bife.champion.slower"
"""Event; its payload: `name` and `version` of the champion that is slower than RPB, and the `reason`."""

_CHAMPION: Final = "champion"


class WatchedSolves(Value):
    """Event: solves of new instances by the champion and RPB, in rows as those of an evaluation."""

    rows: tuple[dict[str, Any], ...]


class Recorded(Value):
    """Event: an instance that is to be solved."""

    path: Path


class Watched(Value):
    """RPB's comparison with a champion by all that was watched, and how many instances were new."""

    comparison: Comparison | None
    new: int
    sentence: str


def watch(config: PipelineConfig, runtime: Runtime) -> Watched:
    """Compare the champion with RPB, on new instances too, and propose its demotion if it is slower."""
    champion = runtime.registry.champion_of(config.instances, config.solver)
    if champion is None:
        name = registered_name(config.instances, config.solver)
        raise PromotionError(f"{name} has no champion to watch; `bife rules list` shows what is registered.")
    settings = config.evaluation.model_copy(update={"baseline": RPB, "metric": champion.metric})
    config = config.model_copy(update={"evaluation": settings})
    method, page = runtime.method(champion.reference), ""
    watched = ChampionWatch(method, config.solver, runtime)
    new = watched.take_instances(config)
    runtime.observer.stage("watch", f"{champion.reference} on {counted(len(new.instances), 'new instance')}")
    if new.instances:
        summary = measure(config, runtime, [method], new)
        run = record_evaluation(config, runtime, [method], new, summary, Story(notes=new.notes))
        watched.add_evaluation(summary)
        page = comparison_link(run)
    comparison = watched.comparison(champion.metric, settings.time_limit_s)
    slower, reason = standing(comparison)
    if slower and watched.propose_once():
        payload = {"name": champion.name, "version": champion.version, "reason": reason}
        runtime.conductor.announce(CHAMPION_SLOWER, f"model.{champion.name}", payload)
    runtime.conductor.conclude(
        config.instances.label, "watch", f"# {champion.reference}\n\n{reason}\n\n{page}"
    )
    return Watched(comparison=comparison, new=len(new.instances), sentence=reason)


class ChampionWatch:
    """The solves of a rule and of RPB under settings of SCIP that its watch has gathered."""

    def __init__(self, rule: Method, solver: SolverConfig, runtime: Runtime) -> None:
        self._runtime, self._store = runtime, runtime.store
        self._rule, self._key = rule, f"watch-{rule.identity[:16]}-{solver.digest[:8]}"

    def take_instances(self, config: PipelineConfig) -> InstanceSet:
        """Return instances to solve, entered in the store: recorded ones, then test instances, newest files first."""
        count, where = config.evaluation.instances, own_test_instances(config.instances, self._rule)
        opened, size = self._runtime.benchmark(where), sys.maxsize if where.folder is not None else count
        fresh = self._unserved(drawn := opened.instances("test", size))
        while len(fresh) < count and len(drawn) == size:
            size += count
            fresh = self._unserved(drawn := opened.instances("test", size))
        if where.folder is not None:
            fresh.sort(key=lambda instance: -instance.path.stat().st_mtime)
        paths = [Recorded.model_validate(body).path for body in self._bodies("recorded")]
        recorded = self._unserved([_instance(path) for path in paths if path.is_file()])
        chosen = tuple({instance.digest: instance for instance in [*recorded, *fresh]}.values())[:count]
        self._enter(chosen)
        return InstanceSet(label=opened.name, instances=chosen, notes=opened.notes)

    def add_evaluation(self, summary: EvaluationSummary) -> None:
        """Add the solves of the rule, which leads the evaluation, and of RPB, its baseline."""
        labels = {summary.rule: _CHAMPION, summary.baseline: RPB}
        rows = [row | {"method": labels[row["method"]]} for row in summary.rows]
        self._append("solved", WatchedSolves(rows=tuple(rows)))

    def record(self, path: Path, results: Sequence[SolveResult]) -> bool:
        """Add a user's solves of a file, or have `take_instances` return it; False if it served anything before."""
        instance = _instance(path)
        if not self._unserved([instance]):
            return False
        self._enter([instance])
        if [solve.method for solve in results[1:]] == [RPB]:
            facts = {"digest": instance.digest, "group": instance.group, "failure": None}
            labelled = zip((_CHAMPION, RPB), results, strict=True)
            rows = [solve.model_dump(mode="json") | facts | {"method": label} for label, solve in labelled]
            self._append("solved", WatchedSolves(rows=tuple(rows)))
        else:
            self._append("recorded", Recorded(path=instance.path))
        return True

    def comparison(self, metric: Cost, time_limit_s: float) -> Comparison | None:
        """Return RPB against the rule by all solves; None before the first ones."""
        if not (rows := self._rows()):
            return None
        frame = solve_frame(rows, time_limit_s, {_CHAMPION: self._rule})
        return compare_pair(frame, RPB, _CHAMPION, metric, CONFIDENCE, "instances that were new to it")

    def propose_once(self) -> bool:
        """Return whether no demotion was proposed before, and store that one is now."""
        first = not self._bodies("proposed")
        if first:
            self._store.append(self._key, "proposed", {})
        return first

    def _unserved(self, instances: Sequence[Instance]) -> list[Instance]:
        """Return instances of groups that served nothing but this watch, and that it has no solves of."""
        solved, ledger = {row["group"] for row in self._rows()}, self._store.served(marks(instances))

        def free(instance: Instance) -> bool:
            served = [ledger[mark] for mark in marks([instance]) & ledger.keys()]
            return all(entry == Served("test", (self._use(instance),)) for entry in served)

        return [instance for instance in instances if instance.group not in solved and free(instance)]

    def _enter(self, instances: Iterable[Instance]) -> None:
        for instance in instances:
            self._store.serve(marks([instance]), "test", self._use(instance))

    def _use(self, instance: Instance) -> str:
        """Return the key of the comparison: that of a group, as it says nothing on others whether one is there."""
        return f"{self._key} {digest_of(instance.group)[:8]}"

    def _rows(self) -> list[dict[str, Any]]:
        return [row for body in self._bodies("solved") for row in WatchedSolves.model_validate(body).rows]

    def _append(self, kind: str, event: Value) -> None:
        self._store.append(self._key, kind, event.model_dump(mode="json"))

    def _bodies(self, kind: str) -> list[dict[str, Any]]:
        return [event.body for event in self._store.events(self._key, kinds=[kind])]


def _instance(path: Path) -> Instance:
    return Instance(path.name, path.absolute(), digest_of_file(path))


def standing(comparison: Comparison | None) -> tuple[bool, str]:
    """Return whether a champion is known to cost more than RPB, and a sentence, by RPB's comparison with it."""
    if comparison is None or comparison.bound is None:
        return False, "There is nothing to compare the champion on yet."
    tested = counted(comparison.instances, "new instance", comparison.groups)
    words = METRICS[comparison.metric].words
    slower, outcome = comparison.bound < 1, "it is not known to be slower than RPB"
    if slower:
        outcome = (
            f"it is slower than RPB, which takes at most {comparison.bound:.3f} of its, whenever one looks"
        )
    return slower, f"The champion takes {1 / comparison.ratio:.3f} of RPB's {words} on {tested}; {outcome}."
