"""An evaluation from methods and instances to a record with everything a reader needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from pydantic import Field

from bife_core.agreement import contradictions
from bife_core.errors import SolverError
from bife_core.evaluation.comparing import Comparison, compare, compare_pair
from bife_core.evaluation.config import EvaluationConfig
from bife_core.evaluation.machine import Machine, this_machine
from bife_core.evaluation.measuring import Measured, Setting, labelled, measure, protocol_solves
from bife_core.evaluation.metrics import solve_frame
from bife_core.evaluation.verdict import verdict
from bife_core.methods.base import AnyMethod, Method
from bife_core.methods.loading import load_method
from bife_core.sandbox import Note, Workers
from bife_core.solves import SolveStore
from bife_core.values import Value


class EvaluationSummary(Value):
    """How methods compare with the baseline; single numbers are those of the leading method's first setting.

    Attributes
    ----------
    rule, baseline : str
        Labels of the leading method and of the baseline.
    ratio, ci_low, ci_high : float
        Geometric mean over instances of the rule's cost over the baseline's, with its bootstrap interval
        (None where the data give none); below 1 the rule is better.
    node_ratio : float
        The same for nodes, of which at least one is counted per solve.
    wins, losses : int
        Instances on which the rule cost less and more, seeds averaged geometrically.
    rows : tuple of dict
        One per setting, instance, seed and method: setting, instance, digest, seed, method (the method's label)
        and the fields of the solve.
    failures : tuple of str
        One sentence per solve that is missing.
    mismatches : tuple of str
        One sentence per instance whose proven optima differ; anything but none is a defect.
    note : str
        What limits the statement; empty if nothing does.
    methods : dict of Method
        All methods by label, the leading one first.
    comparisons : tuple of Comparison
        All methods against the baseline on all settings.
    protocol : EvaluationConfig
        How it was measured.
    machine : Machine or None
        Where it was measured.
    workers : int
        Solver processes at once, one pinned per core.
    reused : int
        Solves that an earlier run of this evaluation, or of another one if that was allowed, had stored.
    measured_at : str
        Day and minute (UTC) the evaluation ended.
    seconds : float
        Wall seconds of the run that ended it.
    """

    rule: str
    baseline: str
    ratio: float
    ci_low: float | None
    ci_high: float | None
    confidence: float
    node_ratio: float
    instances: int
    seeds: tuple[int, ...]
    wins: int
    losses: int
    rows: tuple[dict[str, Any], ...]
    failures: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()
    note: str = ""
    methods: dict[str, AnyMethod] = Field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    protocol: EvaluationConfig = EvaluationConfig()
    machine: Machine | None = None
    workers: int = 1
    reused: int = 0
    measured_at: str = ""
    seconds: float = 0.0

    @property
    def faster(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.ci_high is not None and self.ci_high < 1.0

    @property
    def verdict(self) -> str:
        """What the evaluation comes down to, in one sentence."""
        return verdict(self.leading)

    @property
    def leading(self) -> tuple[Comparison, ...]:
        """The leading method against the baseline, one comparison per setting."""
        return tuple(comparison for comparison in self.comparisons if comparison.method == self.rule)

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings, in order."""
        return tuple(dict.fromkeys(row["setting"] for row in self.rows))

    def frame(self) -> pd.DataFrame:
        """Return all solves as a frame, see `solve_frame`."""
        return solve_frame(self.rows, self.protocol.time_limit_s)

    def label_of(self, sha: str) -> str | None:
        """Return the label of the method with that identity."""
        return next((label for label, method in self.methods.items() if method.identity == sha), None)

    def versus(self, other: str) -> Comparison | None:
        """Return the leading method against another than the baseline, on the first setting, unadjusted."""
        frame = self.frame()
        frame = frame[frame["setting"] == self.settings[0]]
        return compare_pair(frame, self.rule, other, self.protocol)


def evaluate(
    methods: Sequence[Method],
    settings: Sequence[Setting],
    config: EvaluationConfig,
    pool: Workers,
    solves: SolveStore,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
) -> EvaluationSummary:
    """Measure all methods and the baseline on all settings, and compare them.

    Solves of an earlier run of the same evaluation are reused; see `bife_core.evaluation.measuring` for the order.

    Parameters
    ----------
    methods : sequence of Method
        The leading one first; the baseline is added if it is not among them.

    Raises
    ------
    SolverError
        If the leading method shares no solve with the baseline, with the reasons.
    """
    began_s = time.monotonic()
    baseline = load_method(config.baseline)
    every = labelled([*methods, baseline])
    machine = this_machine()
    measured = measure(
        protocol_solves(every, settings, config, machine),
        pool,
        solves,
        warm_up_s=config.warm_up_s,
        progress=progress,
        note=note,
        machine_may_fail=True,
    )
    summary = summarise(measured, every, baseline.name, config, machine)
    return summary.model_copy(
        update={
            "workers": pool.workers,
            "measured_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": time.monotonic() - began_s,
        }
    )


def summarise(
    measured: Sequence[Measured],
    methods: dict[str, Method],
    baseline: str,
    config: EvaluationConfig,
    machine: Machine | None = None,
) -> EvaluationSummary:
    """Return the record of measured solves.

    Raises
    ------
    SolverError
        If the leading method shares no solve with the baseline, with the reasons.
    """
    failures = tuple(
        f"{one.cell.job.instance}, seed {one.cell.job.settings.seed}, {one.cell.method}: {one.failure}"
        for one in measured
        if one.result is None
    )
    rows = tuple(
        {
            "setting": one.cell.setting,
            "digest": one.cell.job.instance_digest,
            **one.result.model_dump(mode="json"),
        }
        for one in measured
        if one.result is not None
    )
    others = tuple(label for label in methods if label != baseline) or (baseline,)
    comparisons = compare(solve_frame(rows, config.time_limit_s), others, baseline, config) if rows else ()
    lead = comparisons[0] if comparisons and comparisons[0].method == others[0] else None
    if lead is None:
        raise SolverError(f"No pair of solves could be finished. {' '.join(failures)}".strip())
    return EvaluationSummary(
        rule=lead.method,
        baseline=baseline,
        ratio=lead.ratio,
        ci_low=lead.ci_low,
        ci_high=lead.ci_high,
        confidence=lead.confidence,
        node_ratio=lead.node_ratio,
        instances=lead.instances,
        seeds=config.seeds,
        wins=lead.wins,
        losses=lead.losses,
        rows=rows,
        failures=failures,
        mismatches=contradictions(one.result for one in measured if one.result is not None),
        note=lead.note,
        methods=methods,
        comparisons=comparisons,
        protocol=config,
        machine=machine,
        reused=sum(one.solved.reused for one in measured),
    )
