"""One configuration against the best so far: instance by instance, for as long as it may win.

SCIP's default settings are measured on the first `USUAL` instances, and a configuration that is best on these is
measured on all. The cheapest instances come first, then twice as many each time. A solve ends at `CAP` times what the
best configuration took there. After each block the configuration is given up if it is behind by a paired t-test on the
logarithms of the ratios (Birattari et al., F-Race, 2002; capping as in Hutter et al., ParamILS, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bife_core.base.errors import SolverError
from bife_core.base.stats import geometric_mean, p_costlier
from bife_core.base.values import Value, seed_below
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext, Solves, cost_of, solve_each
from bife_core.measure.solves import Solved
from bife_core.solver.methods.base import RPB, Method, ScipMethod
from bife_core.solver.scip.solve import SolveResult, cautions, disagree

CAP: Final = 3.0
"""A solve ends at this many times what the best configuration took on its instance."""

LEAST_CAP_S: Final = 0.5
MOST_BEYOND_S: Final = 20.0
"""CPU seconds a solve may take in any case, and at most beyond those of the best."""

PENALTY: Final = 2.0
"""What a solve that was cut short counts as, times its cap, where the configuration may have won."""

USUAL: Final = 6
"""Instances on which the default settings are measured."""

ALPHA: Final = 0.1
"""One-sided level at which a configuration is given up."""

SPREAD: Final = 0.35
"""Standard deviation over instances of the logarithm of two configurations' ratio, expected before any is seen."""


class Raced(Value):
    """What became of a configuration in its race.

    `costs` are by instance, None where it was not solved to the end; `ratio` is their geometric mean over those of
    SCIP's default settings, an estimate unless it `won`, None if it `failed`. `seen` counts instances.
    """

    costs: tuple[float | None, ...]
    ratio: float | None
    seen: int
    cpu_s: float
    won: bool = False
    given_up: str | None = None
    failed: str | None = None


@dataclass
class Race:
    """Design instances, what SCIP's default settings take there, and what the best configuration so far takes."""

    instances: Sequence[Instance]
    solving: SolveContext
    usual: list[SolveResult | None] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    best: list[float | None] = field(default_factory=list)
    aside: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    proofs: dict[int, SolveResult] = field(default_factory=dict)
    """The first proof of each instance on which the default settings were not measured."""

    def begin(self, usual_s: float = math.inf) -> None:
        """Solve the first instances under the default settings, and set aside those on which that fails.

        There are as many instances as these solve in about `usual_s` CPU seconds, but one in any case. A `SolverError`
        says that they fail on all.
        """
        solved, each_s = list[Solved](), self.solving.config.time_limit_s
        while len(solved) < min(fit := max(1, int(min(len(self.instances), usual_s / each_s))), USUAL):
            solved += solve_each(
                ScipMethod(name=RPB), self.instances[len(solved) : min(fit, USUAL)], self.solving
            )
            each_s = max(math.fsum(one.result.cpu_s for one in solved if one.result) / len(solved), 1e-9)
        if (count := max(fit, len(solved))) < len(self.instances):
            kept = f"{count} of {len(self.instances)} design instances are tuned on"
            self.notes.append(f"{kept}: SCIP's default settings take {each_s:.0f} CPU seconds on each.")
            self.instances = self.instances[:count]
        self.usual = [*(one.result for one in solved), *[None] * (len(self.instances) - len(solved))]
        self.costs = [None if one is None else cost_of(one, self.solving.config) for one in self.usual]
        self.best = list(self.costs)
        self.aside = {place for place, one in enumerate(solved) if one.result is None}
        self.cpu_s = math.fsum(one.cpu_s for one in self.usual if one is not None)
        self.notes += [
            f"{one.job.instance.name} is set aside, because SCIP fails on it: {one.failure}"
            for one in solved
            if one.failure
        ]
        self.notes += cautions(filter(None, self.usual))
        if not any(self.usual):
            raise SolverError(f"None of {len(solved)} design instances can be solved. {' '.join(self.notes)}")

    @property
    def places(self) -> list[int]:
        """Positions of the instances on which the best was measured, the cheapest first."""
        known = [(cost, place) for place, cost in enumerate(self.best) if cost is not None]
        return [place for _, place in sorted(known)]

    @property
    def first_limit_s(self) -> float:
        """After how many CPU seconds the first solve of a race ends."""
        return self.limit_s(self.places[0])

    def run(self, method: Method, *, to_the_end: bool = True) -> Raced:
        """Race a configuration, which wins only `to_the_end`, beyond caps. Raises as `run_solves`, and `RuleError`."""
        mine = Solves(method, self.instances, self.solving)
        for block in _doubling(self.places):
            if wrong := self._solve(mine, block, [self.limit_s(place) for place in block]):
                return self._outcome(mine, failed=wrong)
            if reason := self._behind(self._logs(mine)):
                return self._outcome(mine, given_up=reason)
        # What was cut short is solved to the end, and then the instances on which nothing was measured yet.
        unknown = [place for place in range(len(self.instances)) if self.best[place] is None]
        for rest in (sorted(mine.cut_short), [place for place in unknown if place not in self.aside]):
            if not to_the_end or self._mean(mine, PENALTY) >= 0:
                break
            if wrong := self._solve(mine, rest, [self.solving.config.time_limit_s] * len(rest)):
                return self._outcome(mine, failed=wrong)
        return self._outcome(mine, to_the_end=to_the_end)

    def _outcome(
        self, mine: Solves, given_up: str | None = None, failed: str | None = None, to_the_end: bool = True
    ) -> Raced:
        left_out = mine.cut_short | self.aside
        known = {place: mine.cost(place) for place in mine.results if place not in left_out}
        costs = tuple(known.get(place) for place in range(len(self.instances)))
        won = to_the_end and not (given_up or failed or mine.cut_short) and self._mean(mine) < 0
        logs, ratio = list(self._logs(mine).values()), None
        if won:
            ratio = self.ratio_of(costs)
        elif logs and not failed:  # as if all instances were like those seen
            ratio = math.exp(math.fsum(logs) / len(logs)) * self.ratio_of(self.best)
        return Raced(
            costs=costs,
            ratio=ratio,
            seen=len(mine.results),
            cpu_s=mine.cpu_s,
            won=won,
            given_up=given_up,
            failed=failed,
        )

    def _mean(self, mine: Solves, penalty: float = 1.0) -> float:
        logs = self._logs(mine)
        penalties = math.log(penalty) * sum(place in logs for place in mine.cut_short)
        return (math.fsum(logs.values()) + penalties) / max(len(logs), 1)

    def _solve(self, mine: Solves, places: Sequence[int], limits_s: Sequence[float]) -> str | None:
        """Add the solves of some instances, and return what is wrong with them, or None."""
        solved = mine.add(places, limits_s)
        self.aside |= {place for place, one in zip(places, solved, strict=True) if one.rpb_failure}
        if fault := next(filter(None, (one.rules_fault for one in solved)), None):
            return fault
        done = [place for place in places if place in mine.results]
        doubts = cautions(mine.results[place] for place in done)
        self.notes += [sentence for sentence in doubts if sentence not in self.notes]
        return next(filter(None, (self._refuted(place, mine) for place in done)), None)

    def limit_s(self, place: int) -> float:
        """Return after how many CPU seconds a solve ends that is to be no worse than the best."""
        config, best = self.solving.config, self.best[place]
        if config.cost != "time" or best is None:
            return config.time_limit_s
        return min(config.time_limit_s, best + MOST_BEYOND_S, max(CAP * best, LEAST_CAP_S))

    def _logs(self, mine: Solves) -> dict[int, float]:
        """Return logarithms of the ratios to the best by place."""
        known = {place: best for place in mine.results if (best := self.best[place]) is not None}
        return {place: math.log(mine.cost(place) / best) for place, best in known.items()}

    def ratio_of(self, costs: Sequence[float | None]) -> float:
        """Return the geometric mean of costs over those of the default settings, where both are known."""
        pairs = zip(costs, self.costs, strict=True)
        return geometric_mean([own / usual for own, usual in pairs if own and usual])

    def _behind(self, logs: dict[int, float]) -> str | None:
        """Return why the configuration cannot be expected to win any more, as half a sentence, or None."""
        values = np.array(list(logs.values()))
        if not len(values) or values.mean() <= 0 or (p := p_costlier(values, SPREAD)) >= ALPHA:
            return None
        where = counted(len(values), "instance")
        return f"{math.exp(values.mean()):.2f} times as much as the best on {where}, p = {p:.2g}"

    def _refuted(self, place: int, mine: Solves) -> str | None:
        """Return why a proof is wrong, or None: a third solve, with another seed, says which of the two it is.

        Where the default settings were not measured they are once two configurations disagree.
        """
        instance, result, usual = self.instances[place], mine.results[place], self.usual[place]
        unmeasured = usual is None and place not in self.aside and result.proven
        if unmeasured and disagree(self.proofs.setdefault(place, result), result):
            usual = self.usual[place] = self._by_default(place, self.solving.config.seed)
            self.notes.append(f"{instance.name}: two configurations prove different things.")
        if usual is None or not disagree(usual, result):
            return None
        third = self._by_default(place, seed_below(2**31, self.solving.config.seed + 1))
        sentence = (
            f"{instance.name}: {mine.method.name} ended {result.status} with {result.primal_bound}, SCIP's "
            f"default settings ended {usual.status} with {usual.primal_bound}"
        )
        if third is not None and not disagree(third, usual):
            return f"{sentence}, and with another seed likewise."
        self.notes.append(f"{sentence}, with another seed otherwise: it is set aside.")
        self.costs[place] = self.best[place] = self.usual[place] = None
        self.aside.add(place)
        return None

    def _by_default(self, place: int, seed: int) -> SolveResult | None:
        solving = replace(self.solving, config=self.solving.config.model_copy(update={"seed": seed}))
        (solved,) = solve_each(ScipMethod(name=RPB), [self.instances[place]], solving)
        return solved.result


def _doubling(places: Sequence[int]) -> Iterator[Sequence[int]]:
    start, size = 0, 1
    while start < len(places):
        yield places[start : start + size]
        start, size = start + size, 2 * size
