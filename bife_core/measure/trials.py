"""Trials: configurations of SCIP raced against the best so far, the first of which is SCIP's default settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bife_core.base.errors import SolverError
from bife_core.base.stats import geometric_mean
from bife_core.base.values import Value
from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext, choose_cost, cost_of, solve_each
from bife_core.measure.race import SETTINGS, MethodSolves
from bife_core.measure.solves import Solved
from bife_core.solver.methods.base import RPB, Method, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import BY_OBJECTIVE, relative_gap
from bife_core.solver.scip.solve import SolveResult, best_known, cautions, disagree

PENALTY: Final = 2.0
"""What a solve that was cut short counts as, times its cap, where the configuration may have won."""

USUAL: Final = 6
"""Instances on which the default settings are measured."""

SHARE: Final = 0.1
"""The solve of the middle fidelity ends after this share of what SCIP's default settings take on its instance."""

LEAST_S: Final = 5.0
"""CPU seconds it has to last: what is shorter ends at the root, where gaps hardly differ."""

BEHIND: Final = 1.2
"""A configuration is eliminated if its gap is more than this many times that of the best."""

LEAST_GAP: Final = 1e-4
"""Where the best leaves less, the gap says nothing: the time is spent on solutions, or the objective has a constant."""


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
    eliminated: str | None = None
    failed: str | None = None


@dataclass
class TrialRace:
    """A race of configurations on design instances, those first that SCIP's default settings solve fastest.

    By position, `usual` are the solves under SCIP's default settings and `costs` their costs, None if not measured,
    and `best` the costs of the best configuration. Instances `aside` count for none. Where solves are long, the middle
    fidelity comes first: `middle_s` seconds on the instance at `middle`. The gap that the dual bound leaves to the best
    solution known orders configurations as well as whole solves of another instance (`docs/research/measurements.md`);
    `gap` is the best's.

    Costs by the objective are relative to the best `objectives` so far. Once one improves, what was `raced` is measured
    anew, and a configuration that thereby is no better than the one before it no longer leads.
    """

    instances: Sequence[Instance]
    context: SolveContext
    usual: list[SolveResult | None] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    best: list[float | None] = field(default_factory=list)
    aside: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    proofs: dict[int, SolveResult] = field(default_factory=dict)
    """The first proof of each instance on which the default settings were not measured."""
    objectives: dict[str, float] = field(default_factory=dict)
    raced: list[Raced] = field(default_factory=list)
    solved: list[list[SolveResult | None]] = field(default_factory=list)
    """The solves that `costs` of what was `raced` are of."""
    leader: int | None = None
    """Which of them is the best; None is the default settings."""
    middle: int | None = None
    middle_s: float = 0.0
    gap: float | None = None

    def begin(self, usual_s: float = math.inf) -> None:
        """Solve the first instances under the default settings, and set aside those on which that fails.

        There are as many instances as these solve in about `usual_s` CPU seconds, but one in any case. A `SolverError`
        says that they fail on all.
        """
        solved, each_s, config = list[Solved](), self.context.config.time_limit_s, self.context.config
        while len(solved) < min(fit := max(1, int(min(len(self.instances), usual_s / each_s))), USUAL):
            new = self.instances[len(solved) : min(fit, USUAL)]
            solved += solve_each(ScipMethod(name=RPB), new, self.context)
            spent_s = math.fsum(solve.result.cpu_s for solve in solved if solve.result)
            each_s = max(spent_s / len(solved), 1e-9)
        if (count := max(fit, len(solved))) < len(self.instances):
            kept = f"{count} of {len(self.instances)} design instances are tuned on"
            self.notes.append(f"{kept}: SCIP's default settings take {each_s:.0f} CPU seconds on each.")
            self.instances = self.instances[:count]
        self.usual = [*(solve.result for solve in solved), *[None] * (len(self.instances) - len(solved))]
        cost, why = choose_cost(config, self.usual)
        if cost != config.cost:
            self.context = replace(self.context, config=config.model_copy(update={"cost": cost}))
            self.notes.append(why)
        self.objectives |= best_known(self.usual)
        self.costs = self._costs_of(self.usual)
        self.best = list(self.costs)
        self.aside = {place for place, solve in enumerate(solved) if solve.result is None}
        self.cpu_s = math.fsum(result.cpu_s for result in self.usual if result is not None)
        self.notes += [
            f"{solve.job.instance.name} is set aside, because SCIP fails on it: {solve.failure}"
            for solve in solved
            if solve.failure
        ]
        self.notes += cautions(filter(None, self.usual))
        if not any(self.usual):
            raise SolverError(f"None of {len(solved)} design instances can be solved. {' '.join(self.notes)}")

    def begin_middle(self) -> None:
        """Choose the longest instance whose tenth costs no more than a race's first solve; raises as `run_solves`.

        There is none where all tenths are too short or too long, and for a cost other than time.
        """
        solved = enumerate(zip(self.usual, self.costs, strict=True))
        tenths_s = {
            place: tenth_s
            for place, (result, cost_s) in solved
            if result and cost_s and result.primal_bound is not None
            if LEAST_S <= (tenth_s := SHARE * cost_s) <= self.first_limit_s
        }
        if tenths_s and self.context.config.cost == "time":
            self.middle = max(tenths_s, key=tenths_s.__getitem__)
            self.middle_s = tenths_s[self.middle]
            self.gap, cpu_s = self._screen(ScipMethod(name=RPB))
            self.cpu_s += cpu_s

    @property
    def places(self) -> list[int]:
        """Positions of the instances on which the best was measured, in the order of races.

        By the best's own costs those would come first on which it was lucky, and what is better on all others would be
        eliminated there.
        """
        measured = [
            (usual is None, usual or cost, place)
            for place, (usual, cost) in enumerate(zip(self.costs, self.best, strict=True))
            if cost is not None
        ]
        return [place for *_, place in sorted(measured)]

    @property
    def first_limit_s(self) -> float:
        """After how many CPU seconds the first solve of a race ends."""
        return SETTINGS.limit_s(self.best[self.places[0]], self.context.config, first=True)

    def run(self, method: Method, *, to_the_end: bool = True) -> Raced:
        """Race a configuration; only if solved `to_the_end`, without caps, it can win, or be eliminated.

        Raises as `solve_each`.
        """
        gap, cpu_s = self._screen(method)
        times = gap / self.gap if gap and self.gap else 0.0
        if self.middle is not None and times > BEHIND:
            instance = self.instances[self.middle].name
            return Raced(
                costs=(None,) * len(self.instances),
                ratio=times * self.ratio_of(self.best),  # as if time went with the gap
                seen=0,
                cpu_s=cpu_s,
                eliminated=f"{times:.2f} times the gap of the best after {self.middle_s:.0f} s of {instance}",
            )
        trial = _Trial(method, self.instances, self.context, objectives=self.objectives, trials=self)
        # Where nothing can win, what is sought is the ratio, on all instances.
        policy = SETTINGS if to_the_end else replace(SETTINGS, first=SETTINGS.cap, alpha=0.0)
        if trial.race(policy, self.places, self.best, self.best):
            # What was cut short is solved to the end, and then the instances on which nothing was measured yet.
            unmeasured = {place for place, cost in enumerate(self.best) if cost is None} - self.aside
            for rest in (sorted(trial.cut_short), sorted(unmeasured)):
                if not to_the_end or trial.mean(PENALTY) >= 0 or not trial.solve(rest):
                    break
        left_out = trial.cut_short | self.aside
        ended = {place: cost for place, cost in trial.costs().items() if place not in left_out}
        costs = tuple(ended.get(place) for place in range(len(self.instances)))
        won = to_the_end and not (trial.failed or trial.eliminated or trial.cut_short) and trial.mean() < 0
        ratio = None
        if won:
            ratio, self.gap = self.ratio_of(costs), self.gap if gap is None else gap
        elif trial.logs and not trial.failed:  # as if all instances were like those seen
            ratio = math.exp(trial.mean()) * self.ratio_of(self.best)
        self.solved.append([trial.results.get(place) if cost else None for place, cost in enumerate(costs)])
        raced = Raced(
            costs=costs,
            ratio=ratio,
            seen=len(trial.results),
            cpu_s=trial.cpu_s + cpu_s,
            won=won,
            eliminated=trial.eliminated,
            failed=trial.failed,
        )
        self.raced.append(raced)
        if won:
            self.follow(len(self.raced) - 1)
        return raced

    def follow(self, number: int | None) -> None:
        """Race against one of those `raced` from now on, or against the default settings."""
        self.leader = number
        self.best[:] = self.costs if number is None else self.raced[number].costs

    def learn(self, results: Iterable[SolveResult]) -> None:
        """Take over better objectives, and measure what was raced by them."""
        better = best_known(results, self.objectives)
        if self.context.config.cost not in BY_OBJECTIVE or better == self.objectives:
            return
        self.objectives |= better
        self.costs[:], lowest, last = self._costs_of(self.usual), 1.0, None
        for number, raced in enumerate(self.raced):
            anew: dict[str, Any] = {"costs": tuple(self._costs_of(self.solved[number]))}
            if raced.won:
                anew |= {"ratio": (ratio := self.ratio_of(anew["costs"])), "won": ratio < lowest}
                lowest, last = (ratio, number) if ratio < lowest else (lowest, last)
            self.raced[number] = raced.model_copy(update=anew)
        self.follow(None if self.leader is None else last)

    def _costs_of(self, results: Iterable[SolveResult | None]) -> list[float | None]:
        config = self.context.config
        return [None if result is None else cost_of(result, config, self.objectives) for result in results]

    def ratio_of(self, costs: Sequence[float | None]) -> float:
        """Return the geometric mean of costs over those of the default settings, where both are known."""
        pairs = zip(costs, self.costs, strict=True)
        return geometric_mean([cost / usual for cost, usual in pairs if cost and usual])

    def _screen(self, method: Method) -> tuple[float | None, float]:
        """Return the gap after the middle fidelity, 0 if small enough, None without a solve; and CPU seconds."""
        if self.middle is None or (self.gap is not None and self.gap < LEAST_GAP):
            return None, 0.0
        # What is spent before SCIP begins may be most of so short a time, and little of a whole solve.
        if isinstance(method, Configuration) and (method.start or method.inequalities):
            return None, 0.0
        usual, best, context = self.usual[self.middle], self.best[self.middle], self.context
        if usual is None or best is None or self.middle_s > min(best / 2.0, self.first_limit_s):
            return None, 0.0
        instance = self.instances[self.middle]
        (solved,) = solve_each(method, [instance], context, [self.middle_s], usual.primal_bound)
        if (result := solved.result) is None:  # its race says why
            return None, 0.0
        gap = relative_gap(usual.primal_bound, result.dual_bound)
        # Without a solution within its limit SCIP does not end at the gap that is enough.
        return 0.0 if result.finished or gap <= context.solver.gap else gap, result.cpu_s

    def refuted(self, place: int, method: Method, result: SolveResult) -> str | None:
        """Return why a proof is wrong, or None; of two that disagree a third solve, with another seed, decides.

        Instances that the default settings did not solve, they solve once two configurations disagree.
        """
        instance, usual, seed = self.instances[place], self.usual[place], self.context.config.seed
        unmeasured = usual is None and place not in self.aside and result.proven
        if unmeasured and disagree(self.proofs.setdefault(place, result), result):
            usual = self.usual[place] = self._by_default(instance, seed)
            self.notes.append(f"{instance.name}: two configurations prove different things.")
        if usual is None or not disagree(usual, result):
            return None
        third = self._by_default(instance, (seed + 1) % 2**31)
        sentence = (
            f"{instance.name}: {method.name} ended {result.status} with {result.primal_bound}, SCIP's "
            f"default settings ended {usual.status} with {usual.primal_bound}"
        )
        if third is not None and not disagree(third, usual):
            return f"{sentence}, and with another seed likewise."
        self.notes.append(f"{sentence}, with another seed otherwise: it is set aside.")
        self.costs[place] = self.best[place] = self.usual[place] = None
        self.aside.add(place)
        return None

    def _by_default(self, instance: Instance, seed: int) -> SolveResult | None:
        context = replace(self.context, config=self.context.config.model_copy(update={"seed": seed}))
        (solved,) = solve_each(ScipMethod(name=RPB), [instance], context)
        return solved.result


@dataclass
class _Trial(MethodSolves):
    trials: TrialRace = field(kw_only=True)

    @property
    def logs(self) -> dict[int, float]:
        """Logarithms of the ratios to the best by position."""
        best = {place: cost for place, cost in enumerate(self.trials.best) if cost is not None}
        return {place: math.log(cost / best[place]) for place, cost in self.costs().items() if place in best}

    def mean(self, penalty: float = 1.0) -> float:
        """Return the mean logarithm, where each solve that was cut short counts `penalty` times."""
        penalties = math.log(penalty) * sum(place in self.logs for place in self.cut_short)
        return (math.fsum(self.logs.values()) + penalties) / max(len(self.logs), 1)

    def fault(self, solved: Mapping[int, Solved]) -> str | None:
        """Set aside what RPB fails on too, and return what the configuration did wrong, or None."""
        trials = self.trials
        trials.aside |= {place for place, solve in solved.items() if solve.rpb_failure}
        if (failure := super().fault(solved)) is not None:
            return failure
        results = {place: self.results[place] for place in solved if place in self.results}
        trials.learn(results.values())
        trials.notes += [sentence for sentence in cautions(results.values()) if sentence not in trials.notes]
        refuted = (trials.refuted(place, self.method, result) for place, result in results.items())
        return next(filter(None, refuted), None)
