"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation).

Seconds are corrected for the machine's load (`bife_core.measure.context`), and a rule that has one to beat is raced
against it: it is eliminated once it is known to lose (Birattari et al., F-Race, 2002). The published protocol does
without both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

import numpy as np

from bife_core.base.errors import RuleError, SolverError
from bife_core.base.stats import geometric_mean, p_costlier
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import Reference, SolveContext, Solves, cost_of, load_factors, misbehaviour
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.loading import beside_branching
from bife_core.solver.methods.scorer import BaseScorer
from bife_core.solver.scip.solve import SolveResult

ALPHA: Final = 0.05
"""One-sided level at which a rule that is worse so far is given up."""

RACING_BLOCK: Final = 2
"""Instances that are solved before the race is judged again."""

CAP: Final = 4.0
"""In a race a solve is cut short at this many times what the best rule took; it is completed if the rule may win."""

LEAST_CAP_S: Final = 1.0
"""CPU seconds that the best rule counts as at least for `CAP`."""

_SPREAD: Final = 0.15
"""Standard deviation over instances of the logarithm of two rules' ratio that is expected before any is seen."""


class HighScore(Value):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    `f_hf` is minus the mean cost, corrected for load where that is on, `raw_f_hf` as the clock showed it. `failure` is
    what the rule did wrong, `eliminated` why racing eliminated it. `costs` are those of all design instances in order,
    None where one was set aside or not solved to the end; `results` those that were. `load_factor` is how many times
    slower the machine was than in the reference, in the geometric mean; `cpu_s` are of all solves, reused ones
    included. `notes` are sentences on what the score leaves out.
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

    def beside(self, reference: Reference) -> Iterator[tuple[int, float, SolveResult, SolveResult]]:
        """Yield place, cost, solve and RPB's solve of each design instance that has both."""
        results = iter(self.results)
        for place, (cost, rpb) in enumerate(zip(self.costs, reference.results, strict=False)):
            own = next(results) if cost is not None else None
            if cost is not None and own is not None and rpb is not None:
                yield place, cost, own, rpb


def high_fidelity(results: Sequence[SolveResult], config: HighFidelityConfig) -> float:
    """Return F_HF of the given solves, at least one, their seconds as the clock showed them."""
    return -fmean(cost_of(result, config) for result in results)


@dataclass
class _Measurement(Solves):
    """The solves of one rule so far; `to_beat` and `best` are as in `score_high`, empty where it is not raced."""

    reference: Reference | None = None
    to_beat: Sequence[float | None] = ()
    best: Sequence[float | None] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def places(self) -> list[int]:
        """Positions of the instances that count."""
        known = [True] * len(self.instances) if self.reference is None else self.reference.results
        return [place for place, one in enumerate(known) if one is not None]

    def solve(self, places: Sequence[int], limits_s: Sequence[float]) -> str | None:
        """Add the solves of some instances, and return what the rule did wrong, or None."""
        solved = self.add(places, limits_s)
        self.notes += [
            f"{one.job.instance.name} is set aside, because RPB fails on it too: {one.rpb_failure}"
            for one in solved
            if one.rpb_failure is not None
        ]
        return next((one.rules_fault for one in solved if one.rules_fault is not None), None)

    def limit_s(self, place: int) -> float:
        """Return how long a solve is worthwhile in a race, in CPU seconds."""
        config, best = self.solving.config, self.best[place] if self.best else None
        if best is None or config.cost != "time":
            return config.time_limit_s
        return min(config.time_limit_s, CAP * max(best, LEAST_CAP_S))

    def load_factors(self) -> dict[int, float]:
        """Return how much slower the machine was by position; empty where seconds are not corrected."""
        config = self.solving.config
        if self.reference is None or not config.load_correction or config.cost != "time":
            return {}
        if beside_branching(self.method):  # has other work to do before the first branching
            return {}
        return load_factors(self.results, self.reference.results)

    def costs(self) -> dict[int, float]:
        """Return the costs by position; a solve that ran into the limit costs the limit, whatever the load."""
        corrected = self.cut_short | {place for place, one in self.results.items() if one.finished}
        factors = {place: factor for place, factor in self.load_factors().items() if place in corrected}
        return {place: self.cost(place) / factors.get(place, 1.0) for place in self.results}

    def eliminated(self) -> str | None:
        """Return why the rule cannot be expected to win its race any more, or None."""
        if not self.to_beat:
            return None
        against = {place: cost for place in self.places if (cost := self.to_beat[place]) is not None}
        shared = {place: cost for place, cost in self.costs().items() if place in against}
        if not shared:
            return None
        rival = [against[place] for place in shared]
        return lost(list(shared.values()), rival, math.fsum(against.values()), of=len(against))

    def score(self, *, failure: str | None = None, eliminated: str | None = None) -> HighScore:
        """Return what is known; unless it failed or was eliminated, all solves have to be done."""
        whole = {place: self.results[place] for place in sorted(self.results) if place not in self.cut_short}
        factors, costs = self.load_factors(), self.costs()
        out = failure is not None or eliminated is not None
        return HighScore(
            f_hf=None if out else -fmean(costs[place] for place in whole),
            raw_f_hf=None if out else high_fidelity(list(whole.values()), self.solving.config),
            failure=failure,
            eliminated=eliminated,
            costs=tuple(costs[place] if place in whole else None for place in range(len(self.instances))),
            load_factor=geometric_mean(list(factors.values())) if factors else None,
            results=tuple(whole.values()),
            cpu_s=self.cpu_s,
            notes=tuple(self.notes),
        )


def score_high(
    method: Method,
    instances: Sequence[Instance],
    solving: SolveContext,
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
    config = solving.config
    raced = config.race and to_beat
    done = _Measurement(method, instances, solving, reference=reference)
    if raced:
        done.to_beat, done.best = to_beat, best
    done.notes += () if reference is None else reference.failures
    try:
        for block in blocks(done.places, RACING_BLOCK, config.seed) if raced else [done.places]:
            if fault := done.solve(block, [done.limit_s(place) for place in block]):
                return done.score(failure=fault)
            if reason := done.eliminated():
                return done.score(eliminated=reason)
        cut_short = sorted(done.cut_short)
        fault = done.solve(cut_short, [config.time_limit_s] * len(cut_short))
    except RuleError as error:
        return HighScore(failure=str(error))
    if fault := fault or misbehaviour(map(dict, done.results.values())):
        return done.score(failure=fault)
    if not done.results:
        reasons = " ".join(done.notes)
        raise SolverError(f"None of the {len(instances)} design instances can be solved. {reasons}")
    never = sum(result.calls == 0 for result in done.results.values())
    if never and isinstance(method, BaseScorer):  # what else a method changes is seen without branching
        done.notes.append(
            f"{never} of {len(done.results)} design instances needed no branching on an LP solution: "
            "they are the same for every rule."
        )
    return done.score()


def blocks(positions: Sequence[int], size: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield the instances of a race block by block, in an order that depends on the seed alone."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(positions))
    for start in range(0, len(order), size):
        yield tuple(positions[place] for place in order[start : start + size])


def lost(costs: Sequence[float], to_beat: Sequence[float], total_to_beat: float, of: int = 0) -> str | None:
    """Return why a rule cannot be expected to beat another any more, as half a sentence, or None.

    It has lost once its positive `costs` so far exceed `total_to_beat`, the other's on all instances of the race, or
    once it is costlier than `to_beat`, the other's on the same instances, in the mean, on two instances at least, with
    `p_costlier` below `ALPHA`. `of` is the number of instances of the race, to be named where more are left.

    Examples
    --------
    >>> lost([9.0], [2.0], 8.0)
    'it took 4.5 times as much as the worst rule kept on 1 instance, more than that one took on all instances'
    >>> lost([3.0] * 6, [2.0] * 6, 80.0, of=10)
    'it took 1.5 times as much as the worst rule kept on 6 of 10 instances, p = 2.6e-06'
    """
    own, other = np.asarray(costs), np.asarray(to_beat)
    logarithms = np.log(own / other)
    mean_ratio = float(own.sum() / other.sum())
    percent = f"{mean_ratio - 1:.1%}" if mean_ratio > 1.0005 else "a little"
    more = f"{mean_ratio:.3g} times as much as" if mean_ratio > 1.1 else f"{percent} more than"
    where = f"{len(own)} of {of} instances" if of > len(own) else counted(len(own), "instance")
    said = f"it took {more} the worst rule kept on {where}"
    if own.sum() > max(total_to_beat, other.sum()):
        return f"{said}, more than that one took on all instances" if total_to_beat > other.sum() else said
    if mean_ratio <= 1 or len(own) < 2:
        return None
    p = p_costlier(logarithms, _SPREAD)
    return f"{said}, p = {p:.2g}" if p < ALPHA else None
