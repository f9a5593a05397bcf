"""The middle fidelity: where solves are long, a configuration first solves one instance for a tenth of the time.

The objective of the best solution known is its limit. The gap that its dual bound leaves to that orders configurations
as well as whole solves of another instance do (`docs/research/measurements.md`), so that what is far behind costs a
tenth of a solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from bife_core.base.values import Value
from bife_core.measure.race import Race, Raced
from bife_core.measure.solves import SolveJob, run_solves
from bife_core.solver.methods.base import RPB, Method, ScipMethod
from bife_core.solver.scip.cost import relative_gap
from bife_core.solver.scip.solve import SolveSettings

SHARE: Final = 0.1
"""The solve ends after this share of what SCIP's default settings take on its instance."""

LEAST_S: Final = 5.0
"""CPU seconds it has to last: what is shorter ends at the root, where gaps hardly differ."""

BEHIND: Final = 1.2
"""A configuration is given up if its gap is more than this many times that of the best."""

LEAST_GAP: Final = 1e-4
"""Where the best leaves less, the gap says nothing: the time is spent on solutions, or the objective has a constant."""


class Screened(Value):
    """What a configuration reached: its gap, 0 if that is enough, None without a solve."""

    gap: float | None = None
    cpu_s: float = 0.0


@dataclass
class MiddleFidelity:
    """The way into a `race`: a solve for `limit_s` of the instance at `place`, if any; `best` is the best's there."""

    race: Race
    place: int | None = None
    limit_s: float = 0.0
    best: Screened = field(default_factory=Screened)

    @classmethod
    def into(cls, race: Race) -> Self:
        """Choose the longest instance whose tenth costs no more than a race's first solve; raises as `run_solves`.

        There is no `place` where all tenths are too short or too long, and for a cost other than time.
        """
        solved = enumerate(zip(race.usual, race.costs, strict=True))
        tenths_s = {
            place: tenth_s
            for place, (one, cost_s) in solved
            if one and cost_s and one.primal_bound is not None
            if LEAST_S <= (tenth_s := SHARE * cost_s) <= race.first_limit_s
        }
        if not tenths_s or race.solving.config.cost != "time":
            return cls(race)
        place = max(tenths_s, key=tenths_s.__getitem__)
        middle = cls(race, place, tenths_s[place])
        middle.best = middle._screen(ScipMethod(name=RPB))
        race.cpu_s += middle.best.cpu_s
        return middle

    def run(self, method: Method) -> Raced:
        """Race a configuration unless it is far behind the best when its first solve is cut; raises as the race."""
        own = self._screen(method)
        times = own.gap / self.best.gap if own.gap and self.best.gap else 0.0
        if self.place is not None and times > BEHIND:
            instance = self.race.instances[self.place].name
            return Raced(
                costs=(None,) * len(self.race.instances),
                ratio=times * self.race.ratio_of(self.race.best),  # as if time went with the gap
                seen=0,
                cpu_s=own.cpu_s,
                given_up=f"{times:.2f} times the gap of the best after {self.limit_s:.0f} s of {instance}",
            )
        raced = self.race.run(method)
        if raced.won:
            self.best = own
        return raced.model_copy(update={"cpu_s": raced.cpu_s + own.cpu_s})

    def _screen(self, method: Method) -> Screened:
        """Solve the instance until the cut, if that tells more than it costs."""
        if self.place is None or (self.best.gap is not None and self.best.gap < LEAST_GAP):
            return Screened()
        usual, best = self.race.usual[self.place], self.race.best[self.place]
        if usual is None or best is None or self.limit_s > min(best / 2.0, self.race.first_limit_s):
            return Screened()
        solving = self.race.solving
        settings = SolveSettings(
            solver=solving.solver,
            time_limit_s=self.limit_s,
            objective_limit=usual.primal_bound,
            seed=solving.config.seed,
        )
        job = SolveJob(instance=self.race.instances[self.place], method=method, settings=settings)
        (solved,) = run_solves([[job]], solving.store, solving.pool, note=solving.note, over=solving.over)
        if (result := solved.result) is None:  # its race says why
            return Screened()
        gap = relative_gap(usual.primal_bound, result.dual_bound)
        # Without a solution within its limit SCIP does not end at the gap that is enough.
        enough = result.finished or gap <= solving.solver.gap
        return Screened(gap=0.0 if enough else gap, cpu_s=result.cpu_s)
