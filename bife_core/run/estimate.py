"""How long a run will take, from the CPU seconds that RPB takes on a few instances, and what is left as it goes on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.language.components import COMPONENTS
from bife_core.measure.trials import USUAL
from bife_core.run.config import PipelineConfig

# Set by judgement: one run on 30 auctions was estimated at 10 minutes and took 14.5 beside other work.
_TUNED: Final = 0.5
"""What a solve takes under tuned settings, as a share of what it takes RPB under the default ones."""
_RECORDING, _RECORDED = 2.0, 25
"""What an instance takes on which decisions are recorded, likewise, and how many it gives."""
_SOLVED: Final = 0.4
"""Passes over the design instances per rule sampled: few rules earn solves, and races end most of them."""
_RACED_AT_ONCE: Final = 2  # cores that a race keeps busy
_STORED_S: Final = 2.0
"""Wall seconds after the start of a stage in which it goes through what an earlier run stored."""
_MEASURED: Final = 0.1
"""Share of a stage after which its own pace alone tells what is left of it."""


class Estimate(Value):
    """The stages of a run in order with their wall seconds; a lower bound if solves of RPB reached their limit."""

    stages: tuple[tuple[str, float], ...]
    cores: int
    at_least: bool = False

    @property
    def left_s(self) -> float:
        """Seconds of all stages."""
        return sum(seconds for _, seconds in self.stages)

    @property
    def sentence(self) -> str:
        """Minutes in all, and of each stage."""
        seconds = defaultdict[str, float](float)
        for stage, stage_s in self.stages:
            seconds[stage] += stage_s
        minutes = counted(max(round(self.left_s / 60), 1), "minute")
        parts = ", ".join(f"{name} {'< 1' if s < 30 else round(s / 60)}" for name, s in seconds.items())
        return (
            f"{'at least' if self.at_least else 'about'} {minutes} on {counted(self.cores, 'core')}: {parts}"
        )

    def begin(self, stage: str) -> tuple[float, Estimate]:
        """Return the seconds of a stage that begins, and what is left after it: none and all if it is unknown."""
        names = [name for name, _ in self.stages]
        if stage not in names:
            return 0.0, self
        at = names.index(stage)
        return self.stages[at][1], self.model_copy(update={"stages": self.stages[at + 1 :]})


class Pace:
    """What is left of one stage, first by its estimate and then by how far it came in which time; wall seconds."""

    def __init__(self, expected_s: float, now_s: float) -> None:
        self.expected_s, self.began_s = expected_s, now_s
        self._since_s, self._before, self._share = now_s, 0.0, 0.0

    def reached(self, share: float, now_s: float, stored: bool = False) -> None:
        """Note that a share of the stage is done; what an earlier run did, which is `stored`, tells no pace."""
        self._share = share
        if stored or now_s - self.began_s < _STORED_S:
            self._since_s, self._before = now_s, share

    def left_s(self, now_s: float) -> float:
        """Return the seconds left; a stage that takes longer than expected is to go on for a quarter of its time."""
        passed_s, done = now_s - self._since_s, self._share - self._before
        guess_s = max((1 - self._before) * self.expected_s - passed_s, passed_s / 4)
        if done <= 0:
            return guess_s
        weight = min(done / _MEASURED, 1.0)
        return (1 - weight) * guess_s + weight * passed_s * (1 - self._share) / done


def estimate(
    config: PipelineConfig,
    rpb_s: float,
    cores: int,
    parts: Mapping[str, int],
    at_least: bool = False,
    before: float = 0.5,
) -> Estimate:
    """Return how long a run takes, calls to a model aside, at `rpb_s` CPU seconds a solve; `parts` limit splits.

    `before` is the share of the tuning's time that comes before the search.
    """

    def some(split: str, wanted: int) -> int:
        return min(wanted, parts.get(split, wanted))

    tune, chosen, judged, tuned = config.tune, config.validation, config.evaluation, config.tune.seconds > 0
    solve_s = rpb_s * (_TUNED if tuned else 1.0)
    design, tested = some("design", config.high.instances), some("test", judged.instances)
    # A component without recorded decisions tries each sample on the instances.
    tried_s = config.low.start_s if COMPONENTS.find(config.search.component).low else 0.0
    validated = some("validation", chosen.instances) * (chosen.finalists + len(chosen.budgets) + 2 * tuned)
    collection = config.collection
    recorded = math.ceil(collection.decisions / (collection.decisions_per_instance or _RECORDED))
    first_s = tuned * some("design", min(USUAL, tune.instances)) * rpb_s
    # RPB and the rule; SCIP tuned without it, and the rule alone.
    compared_s = (rpb_s + solve_s) * (1 + tuned)
    # Name, CPU seconds, and how many solves may go on at once.
    stages = [
        ("tuning", first_s + before * tune.seconds, _RACED_AT_ONCE),
        ("collection", (not tried_s) * recorded * min(_RECORDING * rpb_s, collection.time_limit_s), recorded),
        ("search", design * (solve_s + config.search.samples * (_SOLVED * solve_s + tried_s)), design),
        ("tuning", (1 - before) * tune.seconds, _RACED_AT_ONCE),
        ("validation", validated * solve_s, validated),
        ("ablation", tuned * tune.ablation * tune.seconds, _RACED_AT_ONCE),
        ("tuning", tune.without_rule * tune.seconds, _RACED_AT_ONCE),
        ("evaluation", tested * len(judged.seeds) * compared_s, tested),
    ]
    every = tuple((name, cpu_s / min(cores, at_once)) for name, cpu_s, at_once in stages if cpu_s)
    return Estimate(stages=every, cores=cores, at_least=at_least)
