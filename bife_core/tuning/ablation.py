"""What brought a configuration: the path from SCIP's default settings to it, one group of settings at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.trials import USUAL, TrialRace
from bife_core.solver.methods.attach import start_of
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import Cost
from bife_core.tuning.space import BRANCHING, START, Choices, FamilyFacts, Space, choices_text, is_class

_COSTS: Final = 1.5
"""About how many times what SCIP's default settings take on an instance all measurements on it cost."""


class Step(Value):
    """What one group of settings brings, beside those of the steps before it.

    `alone` is the cost without the group over that of the whole configuration, `factor` the cost with it over that of
    the step before, `ratio` that over the cost of SCIP's default settings; None if not measured, for which the `note`
    has the reason, and the next factor the effect.
    """

    group: str
    settings: str
    alone: float | None
    factor: float | None
    ratio: float | None
    note: str


class Ablation(Value):
    """The steps, that which matters most first; factors, of geometric means over `instances`, multiply to the ratio."""

    steps: tuple[Step, ...]
    instances: int
    cost: Cost

    @property
    def factors(self) -> str:
        """What each group brought, such as ``starts x0.61, rows on demand x0.8``."""
        return ", ".join(f"{step.group} x{step.factor:.3g}" for step in self.steps if step.factor)

    @property
    def sentence(self) -> str:
        """What each step brought."""
        steps = [
            f"{step.settings}: {f'x{step.factor:.3g}' if step.factor else 'not measured,'} {step.note}".rstrip()
            for step in self.steps
        ]
        where = f"{METRICS[self.cost].words} on {counted(self.instances, 'design instance')}"
        return f"From SCIP's default settings to what was found, by {where}: {'; '.join(steps)}."


def ablate(
    winner: Method,
    choices: Mapping[str, str],
    instances: Sequence[Instance],
    context: SolveContext,
    budget_s: float,
    fixed: Collection[str] = (),
) -> Ablation:
    """Measure what each group of a configuration's settings brings on the first design instances, `USUAL` at most.

    Each step is to be the change that matters most (Fawcett and Hoos, 2016): they are ordered by leaving out each group
    alone once. `choices` are the winner's in the table of settings, but for what branches and starts; those `fixed`
    stay. There are as many instances as fit into `budget_s` CPU seconds, and no measurement begins once solves, but
    those of SCIP's default settings, took these. Raises as `tune`.
    """
    branching, start = winner.branching if isinstance(winner, Configuration) else winner, start_of(winner)
    label = RPB if branching.identity == RPB else f"{branching.name} instead of RPB"
    methods, chosen = {label: branching}, {**choices, BRANCHING: label, START: "none"}
    if start is not None:
        chosen[START] = start.name
        methods |= {start.name: Configuration(start=start)} if start.identity != start.name else {}
    classes = {name: "" for name in choices if is_class(name)}
    space = Space(
        methods,
        fixed=fixed,
        facts=FamilyFacts(classes=classes, knapsacks=True, searchable=True, implied_free=True),
    )
    chosen = space.counting(chosen)
    parts: dict[str, Choices] = defaultdict(dict)
    for row in space.rows:
        if row.name in chosen:
            parts[row.group][row.name] = chosen[row.name]
    race = TrialRace(instances[:USUAL], context)
    race.begin(budget_s / _COSTS)
    spent_s = 0.0

    def solve(method: Method) -> _Measured:
        nonlocal spent_s
        raced = race.run(method, to_the_end=False)
        spent_s += raced.cpu_s
        return _Measured(race, len(race.raced) - 1, raced.failed or "")

    def measured(groups: Collection[str], most_s: float) -> _Measured:
        if spent_s >= most_s:
            return _Measured(race, None, "the budget was spent")
        return solve(space.configuration({name: of for group in groups for name, of in parts[group].items()}))

    won = solve(winner)
    race.follow(0)
    alone = {group: measured(parts.keys() - {group}, budget_s / 2) for group in parts if len(parts) > 1}
    without = {group: each.ratio and each.ratio / race.ratio_of(race.best) for group, each in alone.items()}
    # The path is measured from SCIP's default settings on: what matters least is left when the budget is spent.
    race.follow(None)
    order = sorted(parts, key=lambda group: -(without.get(group) or 1.0))
    path = [measured(order[:count], budget_s) for count in range(1, len(order))]
    before, before_cut, steps = 1.0, False, list[Step]()
    for group, each in zip(order, [*path, won], strict=True):
        ratio = each.ratio
        steps.append(
            Step(
                group=group,
                settings=choices_text(parts[group]),
                alone=without.get(group),
                factor=ratio and ratio / before,
                ratio=ratio,
                note=each.note or _BOUNDS[each.cut, before_cut],
            )
        )
        before, before_cut = (ratio, each.cut) if ratio else (before, before_cut)
    return Ablation(steps=tuple(steps), instances=len(race.places), cost=race.context.config.cost)


_BOUNDS: Final = {
    (False, False): "",
    (True, False): "at least, as solves were cut short",
    (False, True): "at most, as solves of the step before were cut short",
    (True, True): "roughly, as solves were cut short",
}
"""What a factor is if solves of a step, and of that before it, were cut short."""


@dataclass(frozen=True)
class _Measured:
    """What was measured, by its `number` among those raced; None if nothing was, and then the `note` has the reason."""

    race: TrialRace
    number: int | None
    note: str

    @property
    def cut(self) -> bool:
        """Whether solves were cut short."""
        if self.number is None:
            return False
        costs = zip(self.race.raced[self.number].costs, self.race.costs, strict=True)
        return any(cost is None and usual is not None for cost, usual in costs)

    @property
    def ratio(self) -> float | None:
        """The ratio to SCIP's default settings, by the best objectives known by now; None if not measured."""
        if self.number is None or self.note:
            return None
        raced = self.race.raced[self.number]
        return raced.ratio if self.cut else self.race.ratio_of(raced.costs)
