"""The context of prompts: the benchmark in numbers, computed once, and what the search knows by now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from bife_core.instances.base import Instance
from bife_core.instances.formulation import formulation, written_out
from bife_core.language.components import COMPONENTS
from bife_core.language.features import FEATURES, feature_index
from bife_core.measure.choices import Yardstick, chosen_rows, scores_of
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import Reference, cost_of, misbehaviour
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.failings import contributions, failings
from bife_core.measure.high import HighScore, high_fidelity
from bife_core.measure.low import LowScore
from bife_core.measure.low_measures import MEASURES, Floats, LowMeasure
from bife_core.run.config import PipelineConfig
from bife_core.search import Sample, SampleRequest, WrittenRequest
from bife_core.search.base import CROSSOVER_PARENTS
from bife_core.search.generators import PromptContext
from bife_core.search.generators.base import FeatureRange
from bife_core.search.generators.offline.expression import Leaf
from bife_core.search.generators.prompting import theme
from bife_core.search.population import by_high_fidelity, likeness
from bife_core.search.symbolic.fitting import Columns
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.solve import SolveResult
from bife_core.workers import Workers

_ROOM_PER_BYTE: Final = 24.0  # bytes in memory per byte of a file, which may be compressed
_ROUNDING: Final = 1e-6
"""Share of a feature's largest size that two which say the same may differ by, as LP solutions do."""

_POWERS: Final = (0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0)
"""Exponents of a feature that are tried beside the best one."""
_ROWS: Final = 4  # instances shown at either end of the order, where there are more than twice as many
_NODES: Final = 10  # nodes from which on the time per node is shown


@dataclass(frozen=True)
class Past:
    """What a search had found out when it made its requests."""

    samples: tuple[Sample, ...] = ()
    scores: Mapping[str, LowScore] = field(default_factory=dict)  # of samples, on the recorded decisions
    reference: Reference | None = None  # RPB's solves, once there are some
    solved: Mapping[str, HighScore] = field(default_factory=dict)  # of rules
    tau: float | None = None  # the F_LF that earns solves


class ContextBuilder:
    """Builds the context of prompts; threads may share it.

    It depends on settings, decisions, the first few design instances and the answers a search was given alone: a search
    that is taken up again asks in the same words.
    """

    def __init__(
        self, benchmark: str, design: Sequence[Instance], decisions: Path | None, config: PipelineConfig
    ) -> None:
        self.benchmark = benchmark
        self._instances = [instance.path for instance in design[:3]]
        self._decisions = decisions
        self._low, self._high = config.low, config.high
        self._solver, self._search = config.solver, config.search
        self._lock = Lock()
        self._facts: PromptContext | None = None
        self._read: WeakKeyDictionary[Workers, Future[Any]] = WeakKeyDictionary()

    def build(self, request: WrittenRequest, past: Past, pool: Workers) -> PromptContext:
        """Return what is known for a request; instances and decisions are read in a worker of the pool."""
        with self._lock:
            # Once for each pool, also where that fails; the next run, which has another, tries again.
            if self._facts is None and pool not in self._read:
                files = [str(path) for path in self._instances]
                written = not COMPONENTS.find(request.component).features
                self._read[pool] = self._in_worker(
                    pool, "describe_data", self._instances, instances=files, written=written
                )
        facts = self._facts = self._facts or self._benchmark_facts(self._read[pool].result())
        scores = {rule.id: past.scores[rule.id] for rule in past.samples if rule.id in past.scores}
        solved = any(sample.f_hf is not None for sample in (*request.parents, *past.samples))
        references = [result for result in past.reference.results if result] if past.reference else []
        objectives, begun_from = past.reference.objectives if past.reference else None, ""
        if isinstance(request, SampleRequest) and request.operator == "i1":
            begun_from = theme(
                self._search.drawn, request.number, facts.features, COMPONENTS.find(request.component)
            )
        return facts.model_copy(
            update={
                "rpb": high_fidelity(references, self._high, objectives) if solved and references else None,
                "tau": past.tau,
                "executions": self._executions(request.parents, past),
                "theme": begun_from,
                "earlier": tuple(_without_names(sample, past) for sample in past.samples),
                "fitted": tuple(name for name, score in scores.items() if score.source is not None),
                "regrets": {name: score.regret for name, score in scores.items() if score.regret is not None},
                **self.choices_of(request.parents, pool),
            }
        )

    def _executions(self, parents: Sequence[Sample], past: Past) -> dict[str, str]:
        """Return the tables of parents, and of the best rule, that were evaluated in the solver, to the end or not."""
        if past.reference is None or not parents:
            return {}
        best = next((rule.id for rule in by_high_fidelity(past.samples)), "")
        others = {name: past.solved.get(best) for name in past.solved if name != best}
        return {
            name: execution(past.solved[name], past.reference, others.get(name), self._high)
            for name in dict.fromkeys((*(parent.id for parent in parents), best))
            if name in past.solved
        }

    def choices_of(self, parents: Sequence[Sample], pool: Workers, indexed: bool = False) -> dict[str, Any]:
        """Return where rules choose otherwise than strong branching, and how often two choose alike."""
        scored = [parent for parent in parents if parent.f_lf is not None and parent.source is not None]
        if self._decisions is None or not scored:
            return {}
        sources = [parent.source for parent in scored]
        texts = map(tuple, self._in_worker(pool, "choices", sources=sources, indexed=indexed).result())
        alike = likeness(*parents) if len(parents) == CROSSOVER_PARENTS else None
        return {"failings": dict(zip((rule.id for rule in scored), texts, strict=True)), "likeness": alike}

    def _benchmark_facts(self, read: dict[str, Any]) -> PromptContext:
        component = COMPONENTS.find(self._search.component)
        goal = f" to {self._solver.goal}" if self._solver.gap else ""
        cost = METRICS[self._high.cost].words
        return PromptContext(
            benchmark=self.benchmark,
            fitting=self._low.tune > 0 and self._decisions is not None,
            low=component.low_fidelity if component.low else MEASURES[self._low.measure].words,
            high=f"minus the mean of the {cost} of solving whole instances{goal} with the {component.noun}",
            **read,
        )

    def _in_worker(
        self, pool: Workers, function: str, files: Sequence[Path] = (), **arguments: Any
    ) -> Future[Any]:
        """Have a worker that may read the decisions and these files call a function of this module."""
        reads = [*files, *([] if self._decisions is None else [self._decisions])]
        decisions = None if self._decisions is None else str(self._decisions)
        return pool.submit(
            f"{__name__}:{function}",
            {**arguments, "decisions": decisions, "measure": self._low.measure},
            limit_s=600.0,
            memory_mb=4096.0 + _ROOM_PER_BYTE * sum(path.stat().st_size for path in reads) / 2**20,
            reads=reads,
        )


def _without_names(sample: Sample, past: Past) -> Sample:
    """Return a sample as models hear of it: why its rule failed in the solver may name instances and paths."""
    score = past.solved.get(sample.id)
    if score is None or score.failure is None:
        return sample
    failure = misbehaviour(map(dict, score.results)) or "It failed while an instance was solved."
    return sample.model_copy(update={"failure": failure})


def describe_data(
    instances: list[str], decisions: str | None, measure: LowMeasure, written: bool
) -> dict[str, Any]:
    """Read instances and decisions and return what they say; what `ContextBuilder` calls in a worker.

    The first instance is `written` out for who is to know what its variables and constraints mean.
    """
    sentences = formulation([Path(path) for path in instances])
    sentences += written_out(Path(instances[0])) if written else ()
    if decisions is None:
        return {"instances": sentences}
    recorded = Decisions.load(Path(decisions))
    ranges = [feature.model_dump() for feature in feature_ranges(recorded, Yardstick(recorded, measure))]
    return {"instances": (*sentences, *candidates(recorded)), "features": ranges}


def choices(sources: list[str], decisions: str, measure: LowMeasure, indexed: bool) -> list[tuple[str, ...]]:
    """Return where rules fail and which features they need; called in a worker."""
    recorded = Decisions.load(Path(decisions))
    yardstick = Yardstick(recorded, measure)
    names = [feature.name for feature in FEATURES]
    if indexed:
        repeats = _repeats(recorded)
        names = ["" if place in repeats else f"[{place}] {name}" for place, name in enumerate(names)]
    texts = list[tuple[str, ...]]()
    for source in sources:
        rule = RuleMethod(name="rule", source=source)
        chosen = chosen_rows(scores_of(rule, recorded), recorded.offsets)
        texts.append((*failings(recorded, chosen, names), *contributions(rule, recorded, yardstick)))
    return texts


def feature_ranges(decisions: Decisions, yardstick: Yardstick) -> tuple[FeatureRange, ...]:
    """Return the quantiles of each feature over all recorded candidates, and its F_LF alone and beside the best one."""
    ranges, repeats = list[FeatureRange](), _repeats(decisions)
    for index, column in enumerate(decisions.columns):
        largest, smallest = map(yardstick.of_scores, (column, -column))
        feature = FeatureRange(
            index=index,
            quantiles=tuple(np.quantile(column, (0.0, 0.1, 0.5, 0.9, 1.0)).tolist()),
            alone=max(largest, smallest),
            smallest=smallest > largest,
            repeats=repeats.get(index),
        )
        ranges.append(feature)
    telling = [feature for feature in ranges if not feature.constant and feature.repeats is None]
    best = max(telling, key=lambda feature: feature.alone or 0.0, default=ranges[0])
    columns = Columns(decisions)
    first = np.log(columns.value(Leaf(best.index)))
    first = max(first, -first, key=yardstick.of_scores)
    for feature in telling:
        if feature is not best:
            second = np.log(columns.value(Leaf(feature.index)))
            reached = {power: yardstick.of_scores(first + power * second) for power in _POWERS}
            power = max(reached, key=lambda power: reached[power])
            ranges[feature.index] = feature.model_copy(update={"times_best": reached[power], "power": power})
    return tuple(ranges)


def _repeats(decisions: Decisions) -> dict[int, int]:
    """Return by index, of the features that are not constant, the first earlier one that says the same."""
    repeats = dict[int, int]()
    for index, column in enumerate(decisions.columns):
        if column.min() == column.max():
            continue
        others = (other for other in range(index) if other not in repeats)
        same = next((other for other in others if _same(decisions.columns[other], column)), None)
        if same is not None:
            repeats[index] = same
    return repeats


def _same(column: Floats, other: Floats) -> bool:
    """Whether two features have the same values, or the same with the opposite sign, but for rounding."""
    least = _ROUNDING * float(np.abs(column).max())
    # The first candidate distinguishes most of them.
    if abs(abs(column[0]) - abs(other[0])) > least:
        return False
    return any(float(np.abs(column - sign * other).max()) <= least for sign in (1.0, -1.0))


def candidates(decisions: Decisions) -> tuple[str, ...]:
    """Return sentences on how many candidates a node has, and what their fractional parts look like."""
    sizes, depth = np.diff(decisions.offsets), decisions.depth
    f = 1.0 - decisions.columns[feature_index("ceil_dist")]
    low, middle, high = np.quantile(f, (0.1, 0.5, 0.9))
    return (
        f"{len(decisions)} recorded decisions, at depths {depth.min()} to {depth.max()} (median "
        f"{np.median(depth):g}), with {sizes.min()} to {sizes.max()} candidates (median {np.median(sizes):g}); in "
        f"{decisions.tie_share:.0%} several candidates share the best score, in {decisions.pruned.mean():.0%} both "
        "children of a candidate are cut off. On so many decisions an F_LF has a standard error of up to "
        f"{0.5 / np.sqrt(len(decisions)):.2f}: what differs by less may differ by chance.",
        f"Of the candidates' fractional parts f, 10 % lie below {low:.2f}, half below {middle:.2f}, 10 % above "
        f"{high:.2f}.",
    )


def execution(
    score: HighScore,
    reference: Reference,
    best: HighScore | None,
    config: HighFidelityConfig,
    names: Sequence[str] = (),
) -> str:
    """Return nodes, time per node and cost on each design instance, also over RPB's and those of `best`, another rule.

    Instances are called by `names`, or numbered for a model; the costliest over RPB's come first. Seconds are corrected
    for the load of the machine. Nothing is returned for a rule without costs.
    """
    rows, cut_off, done = [], set(), []
    for place, cost, result, rpb in score.beside(reference):
        done.append(result)
        if not result.finished:
            cut_off.add(place)
        # A solve that ran into the limit costs the limit, and its seconds are as the clock showed them.
        correction = cost / result.cpu_s if config.cost == "time" and result.finished else 1.0
        node_ms, rival = correction * _node_ms(result, _NODES), best and best.costs[place]
        nodes = max(result.nodes, 1) / max(rpb.nodes, 1)
        ratios = nodes, node_ms / _node_ms(rpb), cost / cost_of(rpb, config, reference.objectives)
        rows.append((place, result.nodes, node_ms, cost, *ratios, cost / rival if rival else math.nan))
    if not rows:
        return ""
    table = np.array(sorted(rows, key=lambda row: -row[6]))
    if np.isnan(table[:, -1]).all():  # there is no other rule
        table = table[:, :-1]
    shown = table if len(table) <= 2 * _ROWS else np.vstack((table[:_ROWS], table[-_ROWS:]))
    called = names or [str(number) for number in range(1, len(score.costs) + 1)]
    unit = "CPU s" if config.cost == "time" else config.cost.replace("_", " ")
    present = [column[~np.isnan(column)] for column in table[:, 4:].T]
    geometric = [float(np.exp(np.log(column).mean())) if len(column) else math.nan for column in present]
    lines = [
        f"instance | nodes | x RPB | ms/node | x RPB | {unit} | x RPB{' | x best' * (len(geometric) > 3)}",
        *(_line(called[int(row[0])], row[1:4], row[4:], int(row[0]) in cut_off) for row in shown),
        _line(f"mean of {len(table)}", [math.nan] * 3, geometric),
    ]
    total_s = math.fsum(result.cpu_s for result in done)
    root, features, rule, start = (
        math.fsum(getattr(result, part) or 0.0 for result in done) / total_s
        for part in ("root_s", "feature_s", "rule_s", "start_s")
    )
    code = f"features {features:.2%} and the rule's code {rule:.2%}"
    if start:
        code = f"the start method {start:.1%}, {start * total_s / len(done):.2g} CPU s on each instance"
    spent = f"Of its CPU time the root took {root:.0%}, {code}."
    return "\n".join((*lines, "", spent))


def _node_ms(result: SolveResult, least: int = 2) -> float:
    """Return milliseconds per node but the root, whose work no rule changes; NaN below `least` nodes."""
    if result.nodes < least:
        return math.nan
    return 1e3 * max(result.cpu_s - (result.root_s or 0.0), 1e-6) / (result.nodes - 1)


def _line(name: str, numbers: Iterable[float], ratios: Iterable[float], cut_off: bool = False) -> str:
    cells = ["" if math.isnan(number) else f"{number:.3g}" for number in numbers]
    over = ["-" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios]
    cells[2] += " (limit)" * cut_off
    return " | ".join((name, *(part for pair in zip(cells, over, strict=False) for part in pair), *over[3:]))
