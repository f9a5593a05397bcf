"""The choice among the best few rules of a search and their budgets, on instances apart from design and test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bife_core.base.errors import SolverError
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.context import SolveContext, misbehaviour
from bife_core.measure.evaluation.protocol import interleaved, labelled
from bife_core.measure.high import high_fidelity
from bife_core.measure.solves import run_solves
from bife_core.solver.methods.base import Method
from bife_core.solver.scip.solve import best_known


class Choice(Value):
    """Which rule was chosen, and by what.

    `scores` are F_HF on the validation `instances` that count, by name in the order of the finalists, None for a rule
    that failed. `solves` are rows as in `EvaluationSummary.rows`.
    """

    chosen: str
    scores: dict[str, float | None]
    instances: int
    solves: tuple[dict[str, Any], ...] = ()

    @property
    def sentence(self) -> str:
        """How the choice was made."""
        first, on = next(iter(self.scores)), counted(self.instances, "validation instance")
        instead = "" if self.chosen == first else f" and so replaces {first}"
        return f"{self.chosen} has the best F_HF of {len(self.scores)} methods on {on}{instead}."


def choose(
    finalists: Sequence[Method],
    instances: Sequence[Instance],
    context: SolveContext,
    progress: Callable[[int, int], None] | None = None,
) -> Choice:
    """Solve validation instances with all finalists and choose the one with the best F_HF there, of equals the first.

    The greatest of many noisy F_HF is good or lucky; other instances tell which. One on which RPB fails too is set
    aside with a note. A `SolverError` says that every finalist failed on some instance, or RPB on all; a
    `WorkerFailure` that the machine failed RPB too.
    """
    methods, high, note = labelled(finalists), context.config, context.note
    once = EvaluationConfig(seeds=(0,), time_limit_s=high.time_limit_s)
    groups = interleaved(methods, instances, once, context.solver)
    measured = run_solves(groups, context.store, context.pool, progress=progress, note=note)
    aside = {solve.job.instance: solve.rpb_failure for solve in measured if solve.rpb_failure is not None}
    for instance, why in aside.items():
        if note is not None:
            note(f"{instance.name} is set aside in validation, because RPB fails on it too: {why}")
    if len(aside) == len(instances):
        reasons = " ".join(dict.fromkeys(aside.values()))
        raise SolverError(f"RPB fails on all validation instances. {reasons}")
    stored = context.store.best_objectives({instance.digest for instance in instances})
    objectives = best_known((solve.result for solve in measured), stored)
    scores: dict[str, float | None] = {}
    faults: dict[str, str] = {}
    for label in methods:
        solved = [solve for solve in measured if solve.method == label and solve.job.instance not in aside]
        results = [solve.result for solve in solved if solve.result is not None]
        failed = (f"{label} on {each.job.instance.name}: {each.failure}" for each in solved if each.failure)
        if fault := next(failed, None) or misbehaviour(map(dict, results), label):
            faults[label] = fault
        scores[label] = None if fault else high_fidelity(results, high, objectives)
    sound = {label: score for label, score in scores.items() if score is not None}
    if not sound:
        raise SolverError(f"No finalist solved all validation instances. {' '.join(faults.values())}")
    return Choice(
        chosen=max(sound, key=sound.__getitem__),
        scores=scores,
        instances=len(instances) - len(aside),
        solves=tuple(solve.row for solve in measured),
    )
