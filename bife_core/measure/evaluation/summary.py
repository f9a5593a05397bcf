"""An evaluation from methods and instances to a record with everything a reader needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import compress, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from bife_core.base.errors import SolverError
from bife_core.base.stats import CONFIDENCE, confidence_of
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.context import misbehaviour, totals
from bife_core.measure.evaluation.comparison import (
    Comparison,
    compare_methods,
    compare_pair,
    known_as,
    statement,
)
from bife_core.measure.evaluation.metrics import METRICS, judged_by, solve_frame
from bife_core.measure.evaluation.protocol import interleaved, labelled
from bife_core.measure.solves import Solved, run_solves
from bife_core.solver.machine import Machine, this_machine
from bife_core.solver.methods.base import AnyMethod, Method
from bife_core.solver.methods.configuration import FILE_NAME, Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.cost import BY_OBJECTIVE, Cost
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import cautions, contradictions, refuted
from bife_core.store import Store
from bife_core.workers import Note, Workers

if TYPE_CHECKING:
    import pandas as pd

_FIRST_LOOK: Final = 12  # instances after which an evaluation that may stop early is first looked at


class EvaluationSummary(Value):
    """How methods compare with a baseline on some instances, solve by solve.

    `setting` is what tables call the instances, such as ``CA test``; `rule` and `baseline` are labels of methods.
    `rows` are one per instance, seed and method: instance, digest, group, seed, method (its label), the fields of the
    solve, and `failure`: why the solve is missing or wrong, else None. `mismatches` has a sentence for each instance
    whose proven optima differ, which is a defect, `cautions` for each whose best solution holds within SCIP's
    tolerances alone. `methods`, by label, and `comparisons` with the baseline begin with the leading method.

    `workers` solves ran at once, each on a core of its own. `use` is which use of the test set this was, 0 if it may
    promote no rule. If more instances were `planned` than solved it stopped early. `reused` solves were stored before;
    it ended at the minute `measured_at` (UTC), and its last run took `seconds`. `objectives` are the best that the
    store had, by digest, where they are compared by these.
    """

    setting: str
    rule: str
    baseline: str
    rows: tuple[dict[str, Any], ...]
    mismatches: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    methods: dict[str, AnyMethod] = Field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = Field(min_length=1)
    protocol: EvaluationConfig = EvaluationConfig()
    solver: SolverConfig = SolverConfig()
    use: int = 0
    planned: int = 0
    machine: Machine | None = None
    workers: int = 1
    objectives: dict[str, float] = Field(default_factory=dict)
    reused: int = 0
    measured_at: str = ""
    seconds: float = 0.0

    @property
    def lead(self) -> Comparison:
        """The leading method against the baseline."""
        return self.comparisons[0]

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence per solve that is missing or wrong."""
        return tuple(
            f"{row['instance']}, seed {row['seed']}, {row['method']}: {row['failure']}"
            for row in self.rows
            if row["failure"] is not None
        )

    @property
    def conclusion(self) -> str:
        """Each method against the baseline in a sentence, SCIP's settings, and which nodes SCIP branched on."""
        asides = [self.lead.worst_case, self.lead.scatter, *self.stopped_early, self.solver.sentence]
        sentences = [*map(statement, self.comparisons), *asides, *self.branched_by_scip]
        return " ".join(filter(None, sentences))

    @property
    def stopped_early(self) -> list[str]:
        """A sentence on an evaluation that stopped before its last instance, and on what holds all the same."""
        solved = len({row["digest"] for row in self.rows})
        if solved >= self.planned or self.lead.bound is None:
            return []
        return [
            f"After {solved} of up to {self.planned} instances it was decided: the ratio is at most "
            f"{self.lead.bound:.3f}, whenever one stops; the interval is one for a fixed number of instances."
        ]

    @property
    def settings_files(self) -> dict[str, str]:
        """Name of each configuration's settings file, by label, which itself need not be a file name."""
        tuned = [label for label, method in self.methods.items() if isinstance(method, Configuration)]
        return {
            label: FILE_NAME if number == 1 else f"{Path(FILE_NAME).stem}_{number}.set"
            for number, label in enumerate(tuned, start=1)
        }

    @property
    def branched_by_scip(self) -> list[str]:
        """Sentences on methods that left most branchings to SCIP, and on RPB's part under those with a budget."""
        sentences = list[str]()
        for label in self.methods:
            rows = [row for row in self.rows if row["method"] == label]
            calls, by_rpb = totals(rows, "calls", "within_budget")
            if by_rpb:
                share = f"{100 * by_rpb / (by_rpb + calls):.0f} % of the branched nodes"
                sentences += [f"Under {label}, RPB branched at {share}, within its budget."]
            sentences += filter(None, [misbehaviour(rows, label)])
        return sentences

    @property
    def frame(self) -> pd.DataFrame:
        """All solves, one row each: instance, seed, method, status, cpu_s, nodes, gap, ...; see `solve_frame`."""
        return solve_frame(self.rows, self.protocol.time_limit_s, self.methods, self.objectives)

    def __repr__(self) -> str:
        ratios = ", ".join(f"{c.method} {c.ratio:.3g}" for c in self.comparisons)
        words, solves = METRICS[self.lead.metric].words, counted(len(self.rows), "solve")
        return f"EvaluationSummary({words} over {known_as(self.baseline)}'s: {ratios}; {solves})"

    def label_of(self, sha: str) -> str | None:
        """Return the label of the method with that identity."""
        return next((label for label, method in self.methods.items() if method.identity == sha), None)

    def by(self, metric: Cost) -> Comparison:
        """Return the leading method against the baseline by a metric, whatever was asked for."""
        if self.protocol.metric == metric:
            return self.lead
        others = [label for label in self.methods if label != self.baseline]
        level, primary = self.lead.confidence, self.lead.primary
        return compare_methods(self.frame, others, self.baseline, metric, level, self.setting, primary)[0]

    @property
    def judged(self) -> Comparison:
        """The comparison that a promotion depends on, see `judged_by`."""
        return self.by(judged_by(self.protocol.metric))

    def decided(self, instances: int, beat: Sequence[str]) -> bool:
        """Whether the leading rule surely beats baseline and `beat` after so many instances, or hardly ever will."""
        rivals = [label for sha in beat if (label := self.label_of(sha)) and label != self.rule]
        pairs = [self.judged, *filter(None, map(self.versus, rivals))]
        if any(pair.further is None or pair.groups + pair.further > instances for pair in pairs):
            return True
        return all(pair.finding == "better" and not pair.doubt for pair in pairs)

    def versus(self, other: str) -> Comparison | None:
        """Return the leading method against another than the baseline, as it is judged."""
        metric = judged_by(self.protocol.metric)
        return compare_pair(self.frame, self.rule, other, metric, self.lead.confidence, self.setting)


def evaluate(
    methods: Sequence[Method],
    instances: Sequence[Instance],
    config: EvaluationConfig,
    pool: Workers,
    store: Store,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
    *,
    setting: str = "these instances",
    use: int = 0,
    baseline: Method | None = None,
    solver: SolverConfig | None = None,
    beat: Sequence[str] | None = None,
) -> EvaluationSummary:
    """Measure all methods, the leading one first, and the baseline on all instances, and compare them.

    Solves of earlier runs are reused; see `interleaved` for their order. `use` is which use of the test set this is if
    it may promote a rule, see `bife_core.base.stats.confidence_of`, else 0. With `beat`, identities of methods that the
    leading one must beat beside the baseline, it stops at the first of `looks` at which that is decided. A
    `SolverError` says that the baseline has no solve, or is the only method.
    """
    began_s = time.monotonic()
    baseline, solver = baseline or load_method(config.baseline), solver or SolverConfig()
    every = labelled([*(method for method in methods if method.identity != baseline.identity), baseline])
    if len(every) < 2:
        raise SolverError(
            f"There is nothing to compare with {baseline.name} but itself; name another method."
        )
    label = next(name for name, method in every.items() if method.identity == baseline.identity)
    sizes = looks(len(instances)) if beat is not None else [len(instances)]
    measured: list[Solved] = []
    for begin, end in pairwise([0, *sizes]):
        measured += run_solves(
            interleaved(every, instances[begin:end], config, solver),
            store,
            pool,
            warm_up_s=config.warm_up_s,
            progress=progress,
            note=note,
            machine_may_fail=True,
        )
        summary = summarise(
            measured, every, label, config, setting, use,
            solver=solver,
            machine=this_machine(),
            workers=pool.workers,
            objectives=store.best_objectives(each.digest for each in instances if config.metric in BY_OBJECTIVE),
            planned=len(instances),
            measured_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            seconds=time.monotonic() - began_s,
        )  # fmt: skip
        if end < len(instances) and summary.decided(len(instances), beat or ()):
            break
    return summary


def looks(instances: int) -> list[int]:
    """Return after how many instances an evaluation that may stop early is looked at."""
    sizes = [_FIRST_LOOK]
    while sizes[-1] < instances:
        sizes.append(sizes[-1] * 5 // 4)
    return [*sizes[:-1], instances]


def summarise(
    measured: Sequence[Solved],
    methods: dict[str, Method],
    baseline: str,
    config: EvaluationConfig,
    setting: str,
    use: int = 0,
    **facts: Any,
) -> EvaluationSummary:
    """Return the record of measured solves, with other `facts` of them, by field; raises `SolverError`."""
    of_baseline = [solve.method == baseline for solve in measured]
    if not any(solve.result for solve in compress(measured, of_baseline)):
        reasons = dict.fromkeys(solve.failure for solve in compress(measured, of_baseline))
        raise SolverError(f"No solve of {baseline} could be finished. {' '.join(filter(None, reasons))}")
    results = [solve.result for solve in measured]
    wrong = zip(measured, refuted(results, of_baseline), strict=True)
    rows = tuple(solve.row | {"failure": solve.failure or why} for solve, why in wrong)
    others = [label for label in methods if label != baseline]
    level = confidence_of(use, CONFIDENCE) if use else CONFIDENCE
    frame = solve_frame(rows, config.time_limit_s, methods, facts.get("objectives"))
    comparisons = compare_methods(frame, others, baseline, config.metric, level, setting, primary=use > 0)
    if not comparisons:
        raise SolverError(
            f"No solve has a {METRICS[config.metric].words} to compare methods by; choose another evaluation.metric."
        )
    return EvaluationSummary(
        setting=setting,
        rule=others[0],
        baseline=baseline,
        rows=rows,
        mismatches=contradictions(filter(None, results)),
        cautions=cautions(filter(None, results)),
        methods=methods,
        comparisons=comparisons,
        protocol=config,
        use=use,
        reused=sum(solve.reused for solve in measured),
        **facts,
    )
