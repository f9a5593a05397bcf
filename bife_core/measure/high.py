"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation).

Unlike the paper, seconds are corrected for the machine's load, and a rule that has one to beat is raced against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from bife_core.base.errors import RuleError, SolverError
from bife_core.base.stats import geometric_mean
from bife_core.base.values import Value
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import Reference, SolveContext, cost_of, load_factors, misbehaviour
from bife_core.measure.race import RULES, MethodSolves
from bife_core.measure.solves import Solved
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import beside_branching
from bife_core.solver.methods.scorer import BaseScorer
from bife_core.solver.scip.solve import Objectives, SolveResult


class HighScore(Value):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    `f_hf` is minus the mean cost, corrected for load where that is on, `raw_f_hf` as the clock showed it. `failure` is
    what the rule did wrong, `eliminated` why racing eliminated it. `costs` are those of all design instances in order,
    None where one was set aside or not solved to the end; `results` those that were. `load_factor` is how many times
    slower the machine was than in the reference, in the geometric mean; `seconds` are CPU seconds of all solves, reused
    ones included. `notes` are sentences on what the score leaves out.
    """

    f_hf: float | None = None
    raw_f_hf: float | None = None
    failure: str | None = None
    eliminated: str | None = None
    costs: tuple[float | None, ...] = ()
    load_factor: float | None = None
    results: tuple[SolveResult, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    def beside(self, reference: Reference) -> Iterator[tuple[int, float, SolveResult, SolveResult]]:
        """Yield place, cost, solve and RPB's solve of each design instance that has both."""
        results = iter(self.results)
        for place, (cost, rpb) in enumerate(zip(self.costs, reference.results, strict=False)):
            result = next(results) if cost is not None else None
            if cost is not None and result is not None and rpb is not None:
                yield place, cost, result, rpb


def high_fidelity(
    results: Sequence[SolveResult], config: HighFidelityConfig, objectives: Objectives | None = None
) -> float:
    """Return F_HF of the given solves, at least one, their seconds as the clock showed them; see `cost_of`."""
    return -fmean(cost_of(result, config, objectives) for result in results)


@dataclass
class _RuleSolves(MethodSolves):
    reference: Reference | None = None
    notes: list[str] = field(default_factory=list)

    def fault(self, solved: Mapping[int, Solved]) -> str | None:
        """Note what RPB fails on too, and return what the rule did wrong, or None."""
        self.notes += [
            f"{solve.job.instance.name} is set aside, because RPB fails on it too: {solve.rpb_failure}"
            for solve in solved.values()
            if solve.rpb_failure is not None
        ]
        return super().fault(solved)

    def load_factors(self) -> dict[int, float]:
        """Return how much slower the machine was by position; empty where seconds are not corrected."""
        config = self.context.config
        if self.reference is None or not config.load_correction or config.cost != "time":
            return {}
        if beside_branching(self.method):  # has other work to do before the first branching
            return {}
        return load_factors(self.results, self.reference.results)

    def costs(self) -> dict[int, float]:
        """Return the costs by position; a solve that ran into the limit costs the limit, whatever the load."""
        corrected = self.cut_short | {place for place, result in self.results.items() if result.finished}
        factors = {place: factor for place, factor in self.load_factors().items() if place in corrected}
        return {place: cost / factors.get(place, 1.0) for place, cost in super().costs().items()}

    def score(self) -> HighScore:
        """Return what is known; unless the rule failed or was eliminated, all solves have to be done."""
        ended = {place: self.results[place] for place in sorted(self.results) if place not in self.cut_short}
        factors, costs = self.load_factors(), self.costs()
        out = self.failed is not None or self.eliminated is not None
        return HighScore(
            f_hf=None if out else -fmean(costs[place] for place in ended),
            raw_f_hf=None if out else high_fidelity([*ended.values()], self.context.config, self.objectives),
            failure=self.failed,
            eliminated=self.eliminated,
            costs=tuple(costs[place] if place in ended else None for place in range(len(self.instances))),
            load_factor=geometric_mean(list(factors.values())) if factors else None,
            results=tuple(ended.values()),
            seconds=self.cpu_s,
            notes=tuple(self.notes),
        )


def score_high(
    method: Method,
    instances: Sequence[Instance],
    context: SolveContext,
    *,
    reference: Reference | None = None,
    to_beat: Sequence[float | None] = (),
    best: Sequence[float | None] = (),
) -> HighScore:
    """Solve the design instances with a rule, or another method, and return F_HF; solves done before are reused.

    A rule that misbehaves has no F_HF, nor has one that is eliminated by racing against the costs `to_beat`; `best`
    are the costs that cap its solves. An instance on which RPB fails is set aside with a note. Without RPB's solves in
    `reference`, seconds are not corrected for load. Raises `SolverError` if every instance had to be set aside,
    `WorkerFailure` if the machine failed, and `OutOfTimeError` if solves are left when the time is up.
    """
    places = [place for place in range(len(instances)) if reference is None or reference.results[place]]
    rule = _RuleSolves(method, instances, context, reference=reference)
    rule.objectives |= {} if reference is None else reference.objectives
    rule.notes += () if reference is None else reference.failures
    try:
        if context.config.race and to_beat:
            shuffled = np.random.Generator(np.random.PCG64(context.config.seed)).permutation(places).tolist()
            sound = rule.race(RULES, shuffled, best or [None] * len(instances), to_beat)
        else:
            sound = rule.solve(places)
        if sound and rule.solve(sorted(rule.cut_short)):
            rule.failed = misbehaviour(map(dict, rule.results.values()))
    except RuleError as error:
        return HighScore(failure=str(error))
    if rule.failed or rule.eliminated:
        return rule.score()
    if not rule.results:
        reasons = " ".join(rule.notes)
        raise SolverError(f"None of the {len(instances)} design instances can be solved. {reasons}")
    never = sum(result.calls == 0 for result in rule.results.values())
    if never and isinstance(method, BaseScorer):  # what else a method changes is seen without branching
        rule.notes.append(
            f"{never} of {len(rule.results)} design instances needed no branching on an LP solution: "
            "they are the same for every rule."
        )
    return rule.score()
