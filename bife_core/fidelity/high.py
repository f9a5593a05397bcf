"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation).

Seconds are corrected for the machine's load (`bife_core.fidelity.solving`), and a rule that has one to beat is raced
against it (`bife_core.fidelity.racing`); the published protocol does without both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bife_core.benchmarks.base import Instance
from bife_core.errors import RuleError, SolverError
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.racing import CAP, LEAST_CAP_S, RACING_BLOCK, blocks, lost
from bife_core.fidelity.solving import Reference, Solving, cost_of, load_factors, misbehaviour, solve_each
from bife_core.methods.base import RPB, Method, ScipMethod
from bife_core.methods.rule import RuleMethod
from bife_core.scip.solving import SolveResult
from bife_core.values import Value


class HighScore(Value):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    `f_hf` is minus the mean cost, corrected for load where that is on, `raw_f_hf` as the clock showed it. `failure` is
    what the rule did wrong, `eliminated` why racing eliminated it. `costs` are those of all design instances in order,
    None where one was set aside or not solved to the end any more; `results` those that were, or ran into the limit.
    `load_factor` is how many times slower the machine was than in the reference, in the geometric mean, None without
    correction; `cpu_s` are of all solves, reused ones included. `notes` are sentences on what the score leaves out.
    """

    f_hf: float | None = None
    raw_f_hf: float | None = None
    failure: str | None = None
    eliminated: str | None = None
    costs: tuple[float | None, ...] = ()
    load_factor: float | None = None
    results: tuple[SolveResult, ...] = ()
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()


def high_fidelity(results: Sequence[SolveResult], config: HighFidelityConfig) -> float:
    """Return F_HF of the given solves, at least one, their seconds as the clock showed them."""
    return -mean_cost([cost_of(result, config) for result in results])


def mean_cost(costs: Sequence[float]) -> float:
    """Return the mean of costs that F_HF is the negative of, or raise `ValueError` if there is none."""
    if not costs:
        raise ValueError("F_HF needs at least one solve.")
    return math.fsum(costs) / len(costs)


@dataclass(frozen=True)
class ToBeat:
    """Costs, on the design instances, of the worst rule that would still be kept and of the best; none without them.

    The first have to be beaten, the others say when a solve takes too long to be worthwhile.
    """

    costs: Sequence[float | None] = ()
    best: Sequence[float | None] = ()


@dataclass
class _Measurement:
    """The solves of one rule so far, by the position of their instance, and how more of them are made."""

    method: Method
    instances: Sequence[Instance]
    solving: Solving
    reference: Reference | None
    rival: ToBeat | None
    notes: list[str]
    results: dict[int, SolveResult] = field(default_factory=dict)
    censored: set[int] = field(default_factory=set)
    cpu_s: float = 0.0

    @property
    def places(self) -> list[int]:
        """Positions of the instances that count."""
        known = [True] * len(self.instances) if self.reference is None else self.reference.results
        return [place for place, one in enumerate(known) if one is not None]

    def solve(self, places: Sequence[int], limits_s: Sequence[float]) -> str | None:
        """Add the solves of some instances, and return what the rule did wrong, or None."""
        some = [self.instances[place] for place in places]
        found = solve_each(self.method, some, self.solving, limits_s)
        for place, limit_s, one in zip(places, limits_s, found, strict=True):
            if one.rpb_failure is not None:
                self.notes.append(
                    f"{one.job.instance} is set aside, because RPB fails on it too: {one.rpb_failure}"
                )
            self.censored.discard(place)
            self.results.pop(place, None)
            if one.result is not None:
                self.results[place] = one.result
                self.cpu_s += one.result.cpu_s
                if limit_s < self.solving.config.time_limit_s and not one.result.finished:
                    self.censored.add(place)
        return next((one.rules_fault for one in found if one.rules_fault is not None), None)

    def limit_s(self, place: int) -> float:
        """Return how long a solve is worthwhile in a race, in CPU seconds."""
        best = self.rival.best[place] if self.rival is not None and self.rival.best else None
        cap_s = (
            math.inf if best is None or self.solving.config.cost != "time" else CAP * max(best, LEAST_CAP_S)
        )
        return min(self.solving.config.time_limit_s, cap_s)

    def load_factors(self) -> dict[int, float]:
        """Return how much slower the machine was by position; empty where seconds are not corrected."""
        if (
            self.reference is None
            or not self.solving.config.load_correction
            or self.solving.config.cost != "time"
        ):
            return {}
        known = {
            place: other for place in self.results if (other := self.reference.results[place]) is not None
        }
        factors = load_factors([self.results[place] for place in known], list(known.values()))
        return dict(zip(known, factors, strict=True))

    def costs(self) -> dict[int, float]:
        """Return the costs by position; of a solve cut short what it had cost by then.

        A solve that ran into the limit costs the limit, however slow the machine was.
        """
        factors = self.load_factors()
        costs = {}
        for place, result in self.results.items():
            cut_short = place in self.censored
            cost = result.cpu_s if cut_short else cost_of(result, self.solving.config)
            costs[place] = cost / (factors.get(place, 1.0) if cut_short or result.finished else 1.0)
        return costs

    def eliminated(self) -> str | None:
        """Return why the rule cannot be expected to beat its rival any more, or None."""
        if self.rival is None:
            return None
        against = {place: cost for place in self.places if (cost := self.rival.costs[place]) is not None}
        shared = {place: cost for place, cost in self.costs().items() if place in against}
        if not shared:
            return None
        rival = [against[place] for place in shared]
        return lost(list(shared.values()), rival, math.fsum(against.values()), of=len(against))

    def score(self, *, failure: str | None = None, eliminated: str | None = None) -> HighScore:
        """Return what is known; unless it failed or was eliminated, all solves have to be done."""
        whole = {place: self.results[place] for place in sorted(self.results) if place not in self.censored}
        factors, costs = self.load_factors(), self.costs()
        out = failure is not None or eliminated is not None
        return HighScore(
            f_hf=None if out else -mean_cost([costs[place] for place in whole]),
            raw_f_hf=None if out else high_fidelity(list(whole.values()), self.solving.config),
            failure=failure,
            eliminated=eliminated,
            costs=tuple(costs[place] if place in whole else None for place in range(len(self.instances))),
            load_factor=math.exp(mean_cost(list(map(math.log, factors.values())))) if factors else None,
            results=tuple(whole.values()),
            cpu_s=self.cpu_s,
            notes=tuple(self.notes),
        )


def score_high(
    method: Method,
    instances: Sequence[Instance],
    solving: Solving,
    *,
    reference: Reference | None = None,
    to_beat: ToBeat | None = None,
) -> HighScore:
    """Solve the design instances with a rule, or another method, and return F_HF; solves done before are reused.

    A rule that leaves most branchings without a usable score, or ends a worker that RPB does not end, has no F_HF. Nor
    has one that is eliminated by racing against `to_beat`. An instance on which RPB fails is set aside with a note.
    Without RPB's solves in `reference`, seconds are not corrected for load.

    Raises `SolverError` if every instance had to be set aside, `WorkerFailure` if the machine failed, and
    `OutOfTimeError` if solves are left when the time is up.
    """
    config = solving.config
    rival = to_beat if to_beat is not None and config.race and to_beat.costs else None
    notes = [] if reference is None else list(reference.failures)
    done = _Measurement(method, instances, solving, reference, rival, notes)
    try:
        for block in [done.places] if rival is None else blocks(done.places, RACING_BLOCK, config.seed):
            if fault := done.solve(block, [done.limit_s(place) for place in block]):
                return done.score(failure=fault)
            if reason := done.eliminated():
                return done.score(eliminated=reason)
        cut_short = sorted(done.censored)
        fault = done.solve(cut_short, [config.time_limit_s] * len(cut_short))
    except RuleError as error:
        return HighScore(failure=str(error))
    if fault := fault or misbehaviour(map(dict, done.results.values())):
        return done.score(failure=fault)
    if not done.results:
        reasons = " ".join(done.notes)
        raise SolverError(f"None of the {len(instances)} design instances can be solved. {reasons}")
    if never := sum(result.calls == 0 for result in done.results.values()):
        done.notes.append(
            f"{never} of {len(done.results)} design instances needed no branching on an LP solution: "
            "they are the same for every rule."
        )
    return done.score()


class TrialScore(Value):
    """What solving a few training instances cost, feedback for a search's own use, or why there are no costs.

    `costs` are in the cost's unit, one per instance in order; `cpu_s` of all solves, reused ones included.
    """

    costs: tuple[float, ...] | None = None
    failure: str | None = None
    cpu_s: float = 0.0


def score_trial(source: str | None, name: str, instances: Sequence[Instance], solving: Solving) -> TrialScore:
    """Solve instances with a rule, or with RPB where there is no source, and return what each solve cost.

    Unlike for F_HF, an instance that cannot be solved is not set aside: a trial has costs on all or none. Raises
    `WorkerFailure` and `OutOfTimeError` as `score_high` does.
    """
    method: Method = ScipMethod(name=RPB) if source is None else RuleMethod(name=name, source=source)
    try:
        solved = solve_each(method, instances, solving)
    except RuleError as error:
        return TrialScore(failure=str(error))
    results = tuple(one.result for one in solved if one.result is not None)
    failures = [one.rules_fault or f"{one.job.instance}: {one.failure}" for one in solved if one.failure]
    fault = failures[0] if failures else misbehaviour(map(dict, results))
    return TrialScore(
        costs=None if fault else tuple(cost_of(result, solving.config) for result in results),
        failure=fault,
        cpu_s=math.fsum(result.cpu_s for result in results),
    )
