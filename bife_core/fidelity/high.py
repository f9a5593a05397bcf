"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation).

Seconds are corrected for the machine's load (see `bife_core.fidelity.load_correction`), and a rule that has one to beat
is raced against it (see `bife_core.fidelity.racing`); the published protocol does without both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bife_core.benchmarks.base import Instance
from bife_core.errors import RuleError, SolverError
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.load_correction import Reference, load_factors
from bife_core.fidelity.racing import CAP, LEAST_CAP_S, RACING_BLOCK, blocks, lost
from bife_core.fidelity.solving import cost_of, misbehaviour, raised, solve_each
from bife_core.methods.rule import RuleMethod
from bife_core.sandbox import Note, Workers
from bife_core.scip.solving import SolveResult
from bife_core.solves import Solved
from bife_core.store import Store
from bife_core.values import Value


class HighScore(Value):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    Attributes
    ----------
    f_hf : float or None
        Minus the mean cost, in the cost's unit; seconds are controlled unless that is switched off.
    raw_f_hf : float or None
        The same of seconds as the clock showed them.
    failure : str or None
        What the rule did wrong; a fault of the solver is none of the rule's.
    eliminated : str or None
        Why it was given up: it could not be expected to beat the rule it had to. Nothing is wrong with it.
    costs : tuple of (float or None)
        Cost of each design instance, in order; None where it was set aside or not solved to the end any more.
    load_factor : float or None
        How many times slower the machine was than in the reference, in the geometric mean; None without a control.
    results : tuple of SolveResult
        One per design instance that was solved to its end or to the limit, in order.
    cpu_s : float
        CPU seconds of all solves, reused ones included.
    notes : tuple of str
        Sentences on what the score leaves out, such as an instance on which SCIP fails under every method.
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
    """Return F_HF of the given solves, their seconds as the clock showed them.

    Raises
    ------
    ValueError
        If there is no solve.
    """
    return -mean_cost([cost_of(result, config) for result in results])


def mean_cost(costs: Sequence[float]) -> float:
    """Return the mean of costs, which are positive, that F_HF is the negative of.

    Raises
    ------
    ValueError
        If there is no cost.
    """
    if not costs:
        raise ValueError("F_HF needs at least one solve.")
    return math.fsum(costs) / len(costs)


@dataclass(frozen=True)
class ToBeat:
    """The rule that another has to beat, by its costs on the design instances; none of them if there is no such rule.

    Attributes
    ----------
    costs : sequence of (float or None)
        Costs of the worst rule that would still be kept.
    best : sequence of (float or None)
        Costs of the best rule, which tell when a solve takes too long to be worth its while.
    """

    costs: Sequence[float | None] = ()
    best: Sequence[float | None] = ()


@dataclass
class _Measurement:
    """The solves of one rule so far, and how more of them are made."""

    method: RuleMethod
    instances: Sequence[Instance]
    config: HighFidelityConfig
    reference: Reference | None
    rival: ToBeat | None
    solve_them: Callable[[RuleMethod, Sequence[Instance], Sequence[float]], list[Solved]]
    results: dict[int, SolveResult] = field(default_factory=dict)
    censored: set[int] = field(default_factory=set)
    cpu_s: float = 0.0
    notes: list[str] = field(default_factory=list)

    def places(self) -> list[int]:
        """Return the positions of the instances that count."""
        known = [True] * len(self.instances)
        if self.reference is not None:
            known = [result is not None for result in self.reference.results]
        return [place for place, counts in enumerate(known) if counts]

    def solve(self, places: Sequence[int], limits_s: Sequence[float]) -> str | None:
        """Add the solves of some instances, and return what the rule did wrong so far, or None."""
        found = self.solve_them(self.method, [self.instances[place] for place in places], limits_s)
        for place, limit_s, one in zip(places, limits_s, found, strict=True):
            if one.rpb_failure is not None:
                self.notes.append(
                    f"{one.job.instance} is set aside, because RPB fails on it too: {one.rpb_failure}"
                )
            result = one.result
            self.censored.discard(place)
            self.results.pop(place, None)
            if result is not None:
                self.results[place] = result
                self.cpu_s += result.cpu_s
                if limit_s < self.config.time_limit_s and not result.finished:
                    self.censored.add(place)
        fault = next((one.rules_fault for one in found if one.rules_fault is not None), None)
        return fault or raised(self.results.values())

    def limit_s(self, place: int) -> float:
        """Return how long a solve is worth its while in a race, in CPU seconds."""
        config = self.config
        best = self.rival.best[place] if self.rival is not None and self.rival.best else None
        if best is None or config.cost != "time":
            return config.time_limit_s
        return min(config.time_limit_s, CAP * max(best, LEAST_CAP_S))

    def costs(self, slow: Mapping[int, float]) -> dict[int, float]:
        """Return the costs by position over `load_factors`; of a solve cut short what it had cost by then.

        A solve that ran into the limit costs the limit, however slow the machine was.
        """

        def cost(place: int, result: SolveResult) -> float:
            if place in self.censored:
                return result.cpu_s / slow.get(place, 1.0)
            return cost_of(result, self.config) / (slow.get(place, 1.0) if result.finished else 1.0)

        return {place: cost(place, result) for place, result in self.results.items()}

    def load_factors(self) -> dict[int, float]:
        """Return how much slower the machine was by position; empty where seconds are not controlled."""
        if self.reference is None or not self.config.load_correction or self.config.cost != "time":
            return {}
        pairs = {place: (result, self.reference.results[place]) for place, result in self.results.items()}
        known = {place: (own, other) for place, (own, other) in pairs.items() if other is not None}
        slow = load_factors([own for own, _ in known.values()], [other for _, other in known.values()])
        return dict(zip(known, slow, strict=True))

    def eliminated(self) -> str | None:
        """Return why the rule cannot be expected to beat its rival any more, or None."""
        if self.rival is None:
            return None
        costs = self.costs(self.load_factors())
        against = {place: cost for place in self.places() if (cost := self.rival.costs[place]) is not None}
        shared = [place for place in costs if place in against]
        if not shared:
            return None
        own, other = [costs[place] for place in shared], [against[place] for place in shared]
        return lost(own, other, math.fsum(against.values()))

    def score(self, *, failure: str | None = None, eliminated: str | None = None) -> HighScore:
        """Return what is known; unless it failed or was eliminated, all solves have to be done."""
        whole = {place: self.results[place] for place in sorted(self.results) if place not in self.censored}
        slow = self.load_factors()
        costs = self.costs(slow)
        out = failure is not None or eliminated is not None
        return HighScore(
            f_hf=None if out else -mean_cost([costs[place] for place in whole]),
            raw_f_hf=None if out else high_fidelity(list(whole.values()), self.config),
            failure=failure,
            eliminated=eliminated,
            costs=tuple(costs[place] if place in whole else None for place in range(len(self.instances))),
            load_factor=math.exp(math.fsum(map(math.log, slow.values())) / len(slow)) if slow else None,
            results=tuple(whole.values()),
            cpu_s=self.cpu_s,
            notes=tuple(self.notes),
        )


def score_high(
    source: str,
    name: str,
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: Store,
    note: Note | None = None,
    *,
    reference: Reference | None = None,
    to_beat: ToBeat | None = None,
    until_unix_s: float | None = None,
) -> HighScore:
    """Solve the design instances with a rule and return F_HF; solves done before are reused.

    A rule that raises while branching, leaves most branchings without a usable score, or ends a worker that RPB does
    not end, has no F_HF. Nor has one that is eliminated. An instance on which RPB fails is set aside with a note.

    Parameters
    ----------
    reference : Reference, optional
        RPB's solves of the same instances; without it seconds are not controlled.
    to_beat : ToBeat, optional
        Whom the rule is raced against; without it all instances are solved under the limit of the configuration.

    Raises
    ------
    SolverError
        If every instance had to be set aside.
    WorkerFailure
        If the machine failed, not the rule; another try may succeed.
    OutOfTimeError
        If solves are left at `until_unix_s`, seconds since 1970.
    """

    def solve_them(method: RuleMethod, some: Sequence[Instance], limits_s: Sequence[float]) -> list[Solved]:
        return solve_each(
            method, some, config, pool, solves, limits_s=limits_s, note=note, until_unix_s=until_unix_s
        )

    rival = to_beat if to_beat is not None and config.race and to_beat.costs else None
    method = RuleMethod(name=name, source=source)
    done = _Measurement(method, instances, config, reference, rival, solve_them)
    done.notes += reference.failures if reference is not None else ()
    places = done.places()
    try:
        for block in blocks(places, RACING_BLOCK, config.seed) if rival is not None else [places]:
            fault = done.solve(block, [done.limit_s(place) for place in block])
            if fault is not None:
                return done.score(failure=fault)
            if reason := done.eliminated():
                return done.score(eliminated=reason)
        cut_short = sorted(done.censored)
        fault = done.solve(cut_short, [config.time_limit_s] * len(cut_short))
    except RuleError as error:
        return HighScore(failure=str(error))
    fault = fault or misbehaviour(list(done.results.values()))
    if fault is not None:
        return done.score(failure=fault)
    if not done.results:
        reasons = " ".join(done.notes)
        raise SolverError(f"None of the {len(instances)} design instances can be solved. {reasons}")
    never = sum(result.calls == 0 for result in done.results.values())
    if never:
        done.notes.append(
            f"{never} of {len(done.results)} design instances needed no branching on an LP solution: "
            "they are the same for every rule."
        )
    return done.score()
