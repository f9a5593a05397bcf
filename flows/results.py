"""What the flows return: plain values with everything a reader is shown."""

from __future__ import annotations

from pathlib import Path

from bife_core.decisions.collecting import CollectionSummary
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.registry.evidence import RegisteredRule
from bife_core.search import Sample
from bife_core.study import Evolution
from bife_core.tuning.tuner import Tuning
from bife_core.values import Value
from tasks.collection import InstanceSet
from tasks.tracking.store import run_url


class TrackedRun(Value):
    """A run in MLflow, without an id while MLflow cannot be reached; `url` is relative where it has no server."""

    run_id: str
    url: str

    @classmethod
    def of(cls, experiment: str, run_id: str) -> TrackedRun:
        """Return a run of an experiment, with the address of its page."""
        return cls(run_id=run_id, url=run_url(run_id, experiment))


class CollectionResult(Value):
    """Expert samples on disk, and their run."""

    summary: CollectionSummary
    run: TrackedRun
    notes: tuple[str, ...] = ()


class TuningResult(Value):
    """SCIP's settings as they were tuned, the file of the configuration, and their run."""

    tuning: Tuning
    path: Path
    run: TrackedRun
    notes: tuple[str, ...] = ()


class EvolutionResult(Evolution):
    """The outcome of a search; `new` says whether this run had anything left to do, `ranking_url` shows all samples."""

    key: str
    decisions: CollectionSummary | None
    new: bool = True
    run: TrackedRun
    ranking_url: str

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if not self.new:
            return f"Nothing to do: this is evolution {self.key}, which ended before. {self.run.url}".rstrip()
        if self.best is None:
            return f"None of {len(self.samples)} sampled rules was of use."
        name, value = ("F_LF", self.best.f_lf) if self.best.f_hf is None else ("F_HF", self.best.f_hf)
        return f"{self.best.id} is the best of {len(self.samples)} rules: {name} {value:.4g}."


class EvaluationResult(Value):
    """How a rule compares with the baseline on held-out instances."""

    summary: EvaluationSummary
    source: str
    sha: str
    held_out: InstanceSet
    directory: Path
    run: TrackedRun
    notes: tuple[str, ...] = ()


class PipelineResult(Value):
    """One run from instances to a registered rule; None stands for what was not reached, or not needed.

    `final` is the rule of the search in what was registered, `tuned` the settings it was searched for under.
    `no_champion` says why it is not champion, unless a person is to decide.
    `advice` says what to do next where nothing significant was found.
    """

    collection: CollectionResult | None
    evolution: EvolutionResult
    final: Sample | None = None
    choice: Choice | None = None
    tuned: TuningResult | None = None
    evaluation: EvaluationResult | None = None
    registered: RegisteredRule | None = None
    no_champion: str = ""
    advice: str = ""
    notes: tuple[str, ...] = ()
