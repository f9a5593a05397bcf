"""What the stages return: plain values with everything a reader is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bife_core.base.values import Value
from bife_core.measure.decisions.collection import CollectionSummary
from bife_core.measure.evaluation.choice import Choice
from bife_core.measure.evaluation.comparison import statement
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.registry.evidence import Origin, RegisteredRule
from bife_core.run.config import PipelineConfig
from bife_core.run.estimate import Estimate
from bife_core.run.observer import TrackedRun
from bife_core.run.presets import with_overrides
from bife_core.run.stages.runtime import InstanceSet
from bife_core.run.study import SearchOutcome
from bife_core.search import Sample
from bife_core.search.generators import Spending
from bife_core.solver.methods.base import Method
from bife_core.solver.scip.cost import Cost
from bife_core.tuning.ablation import Ablation
from bife_core.tuning.tuner import Tuning


class Precheck(Value):
    """Where SCIP's time goes, what methods are compared by and how long a run takes, None if no solve shows it.

    `component` is what to search for where that is not what is set, and `before` the share of the tuning's time that
    comes before the search.
    """

    sentence: str
    cost: Cost | None = None
    component: str | None = None
    before: float = 0.5
    expected: Estimate | None = None

    def put_into(self, config: PipelineConfig) -> PipelineConfig:
        """Return a configuration by whose cost methods are compared, and whose component is searched for."""
        chosen = dict[str, Any]()
        if self.cost not in (None, config.high.cost):
            chosen = {"high.cost": self.cost, "evaluation.metric": self.cost}
        if self.component is not None:
            chosen["search.component"] = self.component
        return with_overrides(config, chosen) if chosen else config


class CollectionResult(Value):
    """Expert samples on disk, and their run."""

    summary: CollectionSummary
    run: TrackedRun
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """How much there is."""
        return f"{self.summary.decisions} decisions on {len(self.summary.instances)} instances."


class TuningResult(Value):
    """SCIP's settings as they were tuned, the file of the configuration, their run, and what a model's advice cost."""

    tuning: Tuning
    path: Path
    run: TrackedRun
    notes: tuple[str, ...] = ()
    spending: Spending = Spending()

    @property
    def sentence(self) -> str:
        """The outcome."""
        return self.tuning.sentence


class EvaluationResult(Value):
    """How a rule compares with the baseline on held-out instances."""

    summary: EvaluationSummary
    held_out: InstanceSet
    directory: Path
    run: TrackedRun
    origin: Origin = Origin()  # the search that the leading method is from
    ablation: Ablation | None = None  # what brought the leading method
    notes: tuple[str, ...] = ()

    @property
    def method(self) -> Method:
        """The leading method."""
        return self.summary.methods[self.summary.rule]

    @property
    def sentence(self) -> str:
        """The outcome."""
        return statement(self.summary.lead)


class PipelineResult(Value):
    """One run from instances to a registered rule; None stands for what was not reached, or not needed."""

    config: PipelineConfig  # by the pre-check
    collection: CollectionResult | None
    search: SearchOutcome
    final: Sample | None = None  # the rule of the search in what was registered
    choice: Choice | None = None
    tuned: TuningResult | None = None  # the settings the rule was searched for under
    evaluation: EvaluationResult | None = None
    registered: RegisteredRule | None = None
    no_champion: str = ""  # why it is not champion, unless a person is to decide
    advice: str = ""  # what to do next where nothing significant was found
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome."""
        if self.evaluation is None:
            return self.search.sentence
        return " ".join(filter(None, (self.evaluation.sentence, self.no_champion, self.advice)))
