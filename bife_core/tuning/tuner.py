"""Settings of SCIP and what branches under them, tuned on the design instances (Optuna's TPE)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from bife_core.base.stats import CONFIDENCE, geometric_mean, p_costlier
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.race import SETTINGS
from bife_core.measure.trials import Raced, TrialRace
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import BY_OBJECTIVE, LEAST, Cost
from bife_core.tuning.proposals import Proposer, Tpe
from bife_core.tuning.space import BRANCHING, Choices, Space, choices_text, settings_of
from bife_core.tuning.starting import BASIS, CARRIED, beside_the_best, tried_first

_LONG_S: Final = 10.0
"""CPU seconds of a solve under SCIP default settings from which on rows on demand are tried first."""

_LEAST_S: Final = 0.1
"""CPU seconds that a trial counts as at least: proposing one and starting its solves takes as long or longer."""


Course = tuple[tuple[float, float | None, float], ...]
"""For each trial: CPU seconds of all solves by then, its ratio (None if it failed), and that of the best by then."""


class Trial(Value):
    """A configuration that was tried: what was chosen, and how its race went; and why, where a model proposed it."""

    choices: Choices
    raced: Raced
    reason: str = ""

    def line(self, number: int, before: Choices) -> str:
        """One line: number, instances seen, ratio to SCIP's default settings, ``*`` for a lead, what is new, reason."""
        gone = {name: "SCIP default" for name in before if name not in self.choices}
        new = {name: value for name, value in self.choices.items() if before.get(name) != value} | gone
        ratio = "failed" if self.raced.ratio is None else f"{self.raced.ratio:.3f}"
        mark, why = "*" if self.raced.won else " ", f" (model: {self.reason})" if self.reason else ""
        return f"{number:>4} {self.raced.seen:>3} {ratio:>7} {mark} {choices_text(new)}{why}"


class Tuning(Value):
    """All trials, of which the first is SCIP default settings, and the best of them as a configuration.

    `starting` is how many configurations were to be tried before others.
    """

    trials: tuple[Trial, ...]
    instances: int
    cost: Cost
    configuration: Configuration
    notes: tuple[str, ...] = ()
    starting: int = 0

    @property
    def best(self) -> Trial:
        """The last trial that became the best."""
        return next(trial for trial in reversed(self.trials) if trial.raced.won)

    def ratios(self, trial: Trial) -> tuple[float, ...]:
        """Return a trial's ratio to SCIP default settings after one instance, two and so on, the cheapest first."""
        each = self._each(trial)
        return tuple(geometric_mean(each[:count]) for count in range(1, len(each) + 1))

    def _each(self, trial: Trial) -> list[float]:
        pairs = zip(self.trials[0].raced.costs, trial.raced.costs, strict=True)
        return [cost / usual for usual, cost in sorted((u, c) for u, c in pairs if u and c)]

    @property
    def too_short(self) -> bool:
        """Whether SCIP default settings cost no more than the least that counts, so that nothing can be better."""
        costs = self.trials[0].raced.costs  # by the objective known so far, that is what SCIP itself found
        return self.cost not in BY_OBJECTIVE and all((cost or 0.0) <= LEAST[self.cost] for cost in costs)

    @property
    def by_chance(self) -> bool:
        """Whether the best may be no better than SCIP default settings, by the t-test of a race."""
        savings = [-math.log(ratio) for ratio in self._each(self.best)]
        return p_costlier(savings, SETTINGS.spread) >= 1 - CONFIDENCE

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all solves."""
        return math.fsum(trial.raced.cpu_s for trial in self.trials)

    @property
    def tuned_s(self) -> float:
        """CPU seconds of all trials but SCIP default settings, as the budget counts them."""
        return math.fsum(max(trial.raced.cpu_s, _LEAST_S) for trial in self.trials[1:])

    @property
    def course(self) -> Course:
        """How far it was after each trial."""
        course, spent_s, best = list[tuple[float, float | None, float]](), 0.0, 1.0
        for raced in (trial.raced for trial in self.trials):
            spent_s += raced.cpu_s
            best = raced.ratio or best if raced.won else best
            course.append((spent_s, raced.ratio, best))
        return tuple(course)

    @property
    def sentence(self) -> str:
        """The outcome."""
        tried = f"{counted(len(self.trials) - 1, 'configuration')} in {self.cpu_s:.0f} CPU seconds"
        where = f"on {counted(self.instances, 'design instance')}"
        words = METRICS[self.cost].words
        chance = ", which may be chance" if self.by_chance or self.instances == 1 else ""
        if self.too_short:
            return f"Solves are too short to tune {where}: {words} of at most {LEAST[self.cost]:g}."
        if not self.best.choices:
            return (
                f"No better settings than SCIP's defaults were found {where}, by trying {tried}.{self.longer}"
            )
        return (
            f"With {choices_text(self.best.choices)} SCIP takes {self.best.raced.ratio:.3f} of its {words} {where}, "
            f"the best of {tried}{chance}."
        )

    @property
    def longer(self) -> str:
        """A sentence, with a blank before it, on what all that comes first takes; empty if it was tried."""
        tried, usual_s = len(self.trials) - 1, self.trials[0].raced.cpu_s
        if tried >= self.starting:
            return ""
        each_s = self.tuned_s / tried if tried else usual_s / self.instances
        every_s = self.starting * each_s
        needed = f"{every_s + min(usual_s, every_s):.0f} CPU seconds in all, {each_s:.3g} each"
        return f" To try all {self.starting} that come first takes about {needed}."


def tune(
    instances: Sequence[Instance],
    context: SolveContext,
    space: Space,
    budget_s: float,
    *,
    proposals: Sequence[tuple[Choices, str]] = (),
    first: Sequence[Choices] = (),
    seed: int | None = 0,
    trials: int = 500,
    proposer: Proposer | None = None,
    usual_s: float | None = None,
    shown: Callable[[Tuning], None] | None = None,
) -> Tuning:
    """Tune until solves took `budget_s` CPU seconds, those under SCIP default settings left out.

    With `usual_s` up to that many seconds of these count too, and only the first instances that they solve are used.

    SCIP default settings are the first trial, so that the result is never worse on these instances; a model's
    `proposals` with its reasons, `first` and `STARTING_SETTINGS` follow, then the `proposer`'s, by default those of
    Optuna's TPE with that `seed`; without a seed nothing more. Solves are stored and proposals repeatable: tuning that
    was stopped goes on. `shown` is called after each trial. Raises as `run_solves`, a `SolverError` if no instance can
    be solved, and a `ConfigError` without Optuna.
    """
    race = TrialRace(instances, context)
    race.begin(math.inf if usual_s is None else usual_s)
    race.begin_middle()
    budget_s -= min(race.cpu_s, usual_s or 0.0)
    default = Raced(costs=tuple(race.costs), ratio=1.0, seen=len(race.places), cpu_s=race.cpu_s, won=True)
    long = default.cpu_s >= _LONG_S * default.seen
    primal = race.context.config.cost in BY_OBJECTIVE
    proposed = [*proposals, *((choices, "") for choices in first if space.offers(choices))]
    waiting = tried_first(first, space, long, primal)
    tuning = Tuning(
        trials=(Trial(choices={}, raced=default),),
        instances=len(race.places),
        cost=race.context.config.cost,
        configuration=space.configuration({}),
        notes=tuple(race.notes),
        starting=len(proposed) + len(waiting),
    )
    if proposer is None and seed is not None:
        proposer = Tpe(space, seed)
    if proposer is not None:
        proposer.tell({}, 0.0)
    seen: list[Choices] = [{}]

    def hopeless(choices: Choices) -> bool:
        """Whether these settings lost at the first instance, or in the screening, by another method or basis."""
        settings = settings_of(choices)
        basis = {name: value for name, value in settings.items() if name == BASIS}
        lost = [trial.choices for trial in tuning.trials if trial.raced.eliminated and trial.raced.seen <= 1]
        others = map(settings_of, lost) if settings else ()
        return any(other.items() <= settings.items() <= (other | basis).items() for other in others)

    while not tuning.too_short and tuning.tuned_s < budget_s and len(tuning.trials) < trials:
        if proposed or waiting:
            best = tuning.best.choices
            if proposed:  # which is raced as it is, but for a method that it does not name
                (next_one, reason), carried = proposed.pop(0), frozenset({BRANCHING})
            else:
                next_one, reason = waiting.pop(0), ""
                carried = frozenset(best) if beside_the_best(next_one) else CARRIED
            choices = space.counting({name: best[name] for name in carried & best.keys()} | next_one)
            if choices in seen or hopeless(choices):
                continue
        elif proposer is None:
            break
        else:
            choices, reason = proposer.ask(seen), ""
        seen.append(choices)
        raced = race.run(space.configuration(choices))
        if proposer is not None:
            proposer.tell(choices, None if raced.ratio is None else math.log(raced.ratio))
        if raced.failed:
            race.notes.append(f"With {choices_text(choices)} a solve failed or was wrong: {raced.failed}")
        trials_so_far = (*tuning.trials, Trial(choices=choices, raced=raced, reason=reason))
        if tuning.cost in BY_OBJECTIVE:  # which is better known than it was
            anew = [default.model_copy(update={"costs": tuple(race.costs)}), *race.raced]
            pairs = zip(trials_so_far, anew, strict=True)
            trials_so_far = tuple(trial.model_copy(update={"raced": raced}) for trial, raced in pairs)
        tuning = tuning.model_copy(update={"trials": trials_so_far, "notes": tuple(race.notes)})
        tuning = tuning.model_copy(update={"configuration": space.configuration(tuning.best.choices)})
        if shown is not None:
            shown(tuning)
    return tuning
