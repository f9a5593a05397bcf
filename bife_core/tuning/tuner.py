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
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import BY_OBJECTIVE, LEAST, Cost
from bife_core.tuning.proposals import Proposer, Tpe
from bife_core.tuning.space import (
    BRANCHING,
    FIRST,
    IMPLIED_FREE,
    INEQUALITIES,
    ON_DEMAND,
    ORDERS,
    ROWS,
    SEARCH,
    START,
    Choices,
    Space,
    choices_text,
    is_class,
    settings_of,
)

_FEW_TRIES: Final[Choices] = {
    "separating/aggregation/maxtriesroot": "50",
    "separating/aggregation/maxfailsroot": "10",
}

_LEAN: Final[Choices] = {"separating": "off", "heuristics": "off"}

_AT_ROOT: Final[Choices] = {**_FEW_TRIES, "separating/maxrounds": "0"}
"""Cuts at the root alone, without long looking for those of aggregated rows, on which SCIP spends most of its root."""

FEW_ROUNDS: Final[Choices] = {
    **_FEW_TRIES,
    "heuristics": "off",
    "separating/maxroundsroot": "5",
    "separating/maxrounds": "1",
}
"""What is tried early where solves are long: the root costs little, and its bound is nearly that of many rounds, while
without any cuts the tree may never end.
"""

STARTING_SETTINGS: Final[tuple[Choices, ...]] = (
    _LEAN,
    {**_AT_ROOT, "heuristics": "off"},
    # One kind of cuts may be all that is worth its time: on independent sets that of cliques and odd cycles.
    {**_LEAN, "separators": "clique+oddcycle"},
    {**_LEAN, INEQUALITIES: "knapsack"},
    {**_AT_ROOT, "heuristics": "off", "separating/maxroundsroot": "5"},
    {**_LEAN, "separators": "gomory"},
    _AT_ROOT,
    {},
    {"heuristics": "off"},
    {"separating": "off"},
    {"presolving/maxrestarts": "0"},
    {"emphasis": "feasibility"},
    {"emphasis": "optimality"},
)
"""What is tried first; `WITH_EVERY_METHOD` with each that may branch, the others with the best one by then."""

_RESTRICTED: Final[Choices] = {START: "restricted"}

BESIDE_THE_BEST: Final[tuple[Choices, ...]] = (
    {START: SEARCH},
    _RESTRICTED,
    {"lp/pricing": "q", "propagating/pseudoobj/freq": "-1"},
)
"""What is tried beside all that is best by then: starts, since without heuristics a solution may come late; where nodes
are cheap, LPs that start faster and less propagation.
"""

FEWER_VARIABLES: Final[Choices] = {IMPLIED_FREE: "continuous"}
"""So is this, where presolving can aggregate implied free variables."""

_NO_RESTARTS: Final[Choices] = {"presolving/maxrestarts": "0"}

LEAN: Final[tuple[Choices, ...]] = (
    {**_NO_RESTARTS, **_FEW_TRIES, "heuristics": "off"},
    # By a good start's reduced costs many columns are fixed, which restarts take out.
    {**_FEW_TRIES, "heuristics": "off", "separating/maxrounds": "1", **_RESTRICTED},
    {**_NO_RESTARTS, "separating": "fast", "heuristics": "off"},
)
"""What the largest class of rows is tried on demand with; the other classes with the first."""

WITH_EVERY_METHOD: Final[tuple[Choices, ...]] = (*STARTING_SETTINGS[:2], {})

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
            return f"No better settings than SCIP's defaults were found {where}, by trying {tried}.{self._longer}"
        return (
            f"With {choices_text(self.best.choices)} SCIP takes {self.best.raced.ratio:.3f} of its {words} {where}, "
            f"the best of {tried}{chance}."
        )

    @property
    def _longer(self) -> str:
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
    waiting = [*proposals, *((choices, "") for choices in _first(first, space, long, primal))]
    tuning = Tuning(
        trials=(Trial(choices={}, raced=default),),
        instances=len(race.places),
        cost=race.context.config.cost,
        configuration=space.configuration({}),
        notes=tuple(race.notes),
        starting=len(waiting),
    )
    if proposer is None and seed is not None:
        proposer = Tpe(space, seed)
    if proposer is not None:
        proposer.tell({}, 0.0)
    seen: list[Choices] = [{}]

    def hopeless(choices: Choices) -> bool:
        """Whether these settings lost at the first instance, or in the screening, under another method."""
        settings = settings_of(choices)
        lost = [trial for trial in tuning.trials if trial.raced.eliminated and trial.raced.seen <= 1]
        return bool(settings) and any(settings_of(trial.choices) == settings for trial in lost)

    while not tuning.too_short and tuning.tuned_s < budget_s and len(tuning.trials) < trials:
        if waiting:
            best = tuning.best.choices
            next_one, reason = waiting.pop(0)
            # So is a class alone.
            beside = next_one in (*BESIDE_THE_BEST, FEWER_VARIABLES) or all(map(is_class, next_one))
            kept = best if beside else {}
            choices = space.counting({BRANCHING: best.get(BRANCHING, RPB)} | kept | next_one)
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


def _first(starts: Sequence[Choices], space: Space, long: bool, primal: bool) -> list[Choices]:
    """Return what is tried first: `starts`, then `STARTING_SETTINGS`, with methods that no start names.

    Choices without `BRANCHING` are tried with the best method so far. What only some families have comes after the
    methods without cuts, whose cost ends it early; where solves are long, so that few are tried, after the first of
    them and a few rounds of cuts. Beside what is best by then, fewer variables are tried, a start if solves are long,
    and each class of variables branched on first; then classes of rows on demand, the largest first, which are also put
    on demand beside what is best. Where rows are knapsacks their facets come before all that, since SCIP without any
    cuts may take so long on such rows that no time is left for more. Where solves are compared by their objectives,
    start methods come before all.
    """
    named = {start.get(BRANCHING) for start in starts}
    methods = [name for name in (*space.methods, RPB) if name not in named]
    further = [
        choices
        for start in STARTING_SETTINGS
        for choices in (
            [{**start, BRANCHING: name} for name in methods] if start in WITH_EVERY_METHOD else [start]
        )
    ]
    classes = [row.name for row in space.rows if row.group == ROWS]
    branching = {BRANCHING: "pscost"} if "pscost" in space.methods else {}
    largest = [{**settings, **branching, name: ON_DEMAND} for name in classes[:1] for settings in LEAN]
    others = [{**LEAN[0], **branching, name: ON_DEMAND} for name in classes[1:]]
    alone: list[Choices] = [{name: ON_DEMAND} for name in classes]
    fewer = [FEWER_VARIABLES] if space.implied_free else []
    orders: list[Choices] = [{row.name: FIRST} for row in space.rows if row.group == ORDERS]
    first = len(methods)
    facets = [
        {**start, **branching} for start in STARTING_SETTINGS if INEQUALITIES in start and space.knapsacks
    ]
    before = min(1, first) if long and (classes or fewer or orders) else first
    rounds = [{**FEW_ROUNDS, BRANCHING: name} for name in methods[:1] if long]
    begin = [*facets, *further[:before], *rounds]
    beside = [*fewer, *[_RESTRICTED] * long, *orders]
    proposing = [start for start in BESIDE_THE_BEST if START in start and primal]
    rest = [*BESIDE_THE_BEST, *further[before:]] if long else [*further[before:], *BESIDE_THE_BEST]
    every = [*starts, *proposing, *begin, *beside, *largest, *others, *alone, *rest]
    return [choices for choices in every if space.offers(choices)]
