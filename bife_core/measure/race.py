"""A race: a method is solved with block by block, and eliminated once it cannot beat another any more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bife_core.base.stats import p_costlier
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext, cost_of, solve_each
from bife_core.measure.solves import Solved
from bife_core.solver.methods.base import Method
from bife_core.solver.scip.solve import SolveResult

Costs: TypeAlias = Sequence[float | None]
"""What a method's solves cost by the position of their instance, None where that is unknown."""


@dataclass(frozen=True, kw_only=True)
class RacePolicy:
    """When a race cuts a solve short and eliminates a method, by a paired t-test (Birattari et al., F-Race, 2002).

    The first block has `block` instances, each further one `growth` times as many. A solve ends at `cap` times what the
    best took on its instance (Hutter et al., ParamILS, 2009), in the first block at `first` times, or `beyond_s` CPU
    seconds after that, but may take `least_s`. Logarithms of ratios to the costs of the `rival` are tested at the
    one-sided level `alpha`; `spread` is their standard deviation over instances that is expected before any is seen.
    With `totals` arithmetic means are compared, on two instances at least, and what costs more than the rival on all
    instances is out at once.
    """

    rival: str
    block: int
    growth: int
    cap: float
    first: float
    least_s: float
    beyond_s: float = math.inf
    alpha: float
    spread: float
    totals: bool = False

    def limit_s(self, best: float | None, config: HighFidelityConfig, *, first: bool = False) -> float:
        """Return when a solve, of the `first` block or later, ends: CPU seconds; the best's cost is known or None."""
        if best is None or config.cost != "time":
            return config.time_limit_s
        times = self.first if first else self.cap
        return min(config.time_limit_s, best + self.beyond_s, max(times * best, self.least_s))

    def lost(self, costs: Mapping[int, float], rival: Costs) -> str | None:
        """Return why a method cannot be expected to beat the rival any more, as half a sentence, or None.

        `costs`, positive and by position, are those so far, the rival's those on all instances of the race.

        Examples
        --------
        >>> RULES.lost({0: 9.0}, [2.0, 6.0])
        'it took 4.5 times as much as the worst rule kept on 1 of 2 instances, more than that one took on all instances'
        >>> RULES.lost(dict.fromkeys(range(6), 3.0), [2.0] * 10)
        'it took 1.5 times as much as the worst rule kept on 6 of 10 instances, p = 2.6e-06'
        """
        every = [cost for cost in rival if cost is not None]
        pairs = [(cost, other) for place, cost in costs.items() if (other := rival[place]) is not None]
        if not pairs:
            return None
        cost, other = map(math.fsum, zip(*pairs, strict=True))
        logs = [math.log(cost / other) for cost, other in pairs]
        times = cost / other if self.totals else math.exp(math.fsum(logs) / len(logs))
        percent = f"{times - 1:.1%}" if times > 1.0005 else "a little"
        more = f"{times:.3g} times as much as" if times > 1.1 else f"{percent} more than"
        some = f"{len(logs)} of {len(every)} instances"
        where = some if len(every) > len(logs) else counted(len(logs), "instance")
        sentence = f"it took {more} {self.rival} on {where}"
        if self.totals and cost > (total := math.fsum(every)):
            return f"{sentence}, more than that one took on all instances" if total > other else sentence
        if times <= 1 or (self.totals and len(logs) < 2):
            return None
        p = p_costlier(logs, self.spread)
        return f"{sentence}, p = {p:.2g}" if p < self.alpha else None


RULES: Final = RacePolicy(
    rival="the worst rule kept",
    block=2,
    growth=1,
    cap=4.0,
    first=4.0,
    least_s=4.0,
    alpha=0.05,
    spread=0.15,
    totals=True,
)
"""F_HF: a rule against the worst elite."""

SETTINGS: Final = RacePolicy(
    rival="the best",
    block=1,
    growth=2,
    cap=3.0,
    first=2.0,
    least_s=0.5,
    beyond_s=20.0,
    alpha=0.1,
    spread=0.35,
)
"""Tuning: a configuration against the best so far; twice its cost on one instance is enough for the test."""


@dataclass
class MethodSolves:
    """The solves of one method by the position of their instance; those `cut_short` ended at the limit of a race.

    `failed` says what the method did wrong, and `eliminated` why it lost its race. `objectives` are the best known.
    """

    method: Method
    instances: Sequence[Instance]
    context: SolveContext
    results: dict[int, SolveResult] = field(default_factory=dict)
    cut_short: set[int] = field(default_factory=set)
    cpu_s: float = 0.0
    failed: str | None = None
    eliminated: str | None = None
    objectives: dict[str, float] = field(default_factory=dict)

    def solve(self, places: Sequence[int], limits_s: Sequence[float] | None = None) -> bool:
        """Solve some instances (anew), and return whether that went well. Raises as `run_solves`, and `RuleError`."""
        most_s = self.context.config.time_limit_s
        limits_s = limits_s or [most_s] * len(places)
        solved = solve_each(self.method, [self.instances[place] for place in places], self.context, limits_s)
        for place, limit_s, solve in zip(places, limits_s, solved, strict=True):
            self.cut_short.discard(place)
            self.results.pop(place, None)
            if solve.result is not None:
                self.results[place] = solve.result
                self.cpu_s += solve.result.cpu_s
                if limit_s < most_s and not solve.result.finished:
                    self.cut_short.add(place)
        self.failed = self.fault(dict(zip(places, solved, strict=True)))
        return self.failed is None

    def fault(self, solved: Mapping[int, Solved]) -> str | None:
        """Return what the method did wrong in solves by position, or None."""
        return next(filter(None, (solve.rules_fault for solve in solved.values())), None)

    def costs(self) -> dict[int, float]:
        """Return the costs by position; of a solve that was cut short, what it had cost by then."""
        config = self.context.config
        return {
            place: result.cpu_s if place in self.cut_short else cost_of(result, config, self.objectives)
            for place, result in self.results.items()
        }

    def race(self, policy: RacePolicy, places: Sequence[int], best: Costs, rival: Costs) -> bool:
        """Solve until the method fails or is eliminated, and return whether it may still win.

        Its solves are capped by the costs `best`, and it must beat those of the `rival`.
        """
        start, size = 0, policy.block
        while block := places[start : start + size]:
            config, first = self.context.config, not start
            if not self.solve(block, [policy.limit_s(best[place], config, first=first) for place in block]):
                return False
            self.eliminated = policy.lost(self.costs(), rival)
            if self.eliminated is not None:
                return False
            start, size = start + size, size * policy.growth
        return True
