"""What the flows return: plain values with everything a reader is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bife_core.benchmarks.formulation import Likeness
from bife_core.decisions.collecting import CollectionSummary
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.search import Sample
from bife_core.study import Evolution
from bife_core.study.files import BEST_RULE
from bife_core.values import Value
from tasks.registry import RegisteredRule
from tasks.tracking.store import run_url


class TrackedRun(Value):
    """A run in MLflow.

    Attributes
    ----------
    run_id : str
        Empty while MLflow cannot be reached; the same command delivers the run later.
    url : str
        Its page: a whole address when MLflow is a server, else what follows the address of MLflow's pages.
    """

    run_id: str
    url: str

    @classmethod
    def of(cls, experiment: str, run_id: str) -> TrackedRun:
        """Return a run of an experiment, with the address of its page."""
        return cls(run_id=run_id, url=run_url(run_id, experiment))


class CollectionResult(Value):
    """Decisions on disk, and their run."""

    summary: CollectionSummary
    run: TrackedRun
    notes: tuple[str, ...] = ()


class EvolutionResult(Evolution):
    """The outcome of a search, and where it is shown.

    Attributes
    ----------
    key : str
        Identity of the evolution; the same configuration and data give the same.
    decisions : CollectionSummary or None
        What F_LF was measured on; None for a search that does without.
    new : bool
        Whether this run of it found anything out; otherwise all was known before.
    ranking_url : str
        All samples in MLflow, best first.
    """

    key: str
    decisions: CollectionSummary | None
    new: bool = True
    run: TrackedRun
    ranking_url: str

    @property
    def sentence(self) -> str:
        """What a reader is told first."""
        if not self.new:
            return f"Nothing to do: this is evolution {self.key}, which ended before. {self.run.url}".rstrip()
        if self.best is None:
            return f"None of {len(self.samples)} sampled rules was of use."
        known = {"F_HF": self.best.f_hf, "F_LF": self.best.f_lf}
        name, value = next((name, value) for name, value in known.items() if value is not None)
        return f"{self.best.id} is the best of {len(self.samples)} rules: {name} {value:.4g}."

    @property
    def best_rule(self) -> Path:
        """File of the best rule."""
        return self.folder / BEST_RULE


class EvaluationResult(Value):
    """How a rule compares with the baseline, solve by solve.

    Attributes
    ----------
    source, sha : str
        The rule that was compared.
    test_digest : str
        Hash of the held-out instances.
    models : Likeness or None
        What the held-out instances have in common, of an evaluation that may promote.
    """

    summary: EvaluationSummary
    source: str
    sha: str
    test_digest: str
    models: Likeness | None = None
    directory: Path
    run: TrackedRun
    notes: tuple[str, ...] = ()

    @property
    def endings(self) -> tuple[dict[str, Any], ...]:
        """One row per instance and seed: what rule and baseline ended with, None where a solve is missing."""
        pairs: dict[tuple[str, int], dict[str, Any]] = {}
        for row in self.summary.rows:
            if row["method"] not in (self.summary.rule, self.summary.baseline):
                continue
            pair = pairs.setdefault(
                (row["instance"], row["seed"]), {"instance": row["instance"], "seed": row["seed"]}
            )
            who = "rule" if row["method"] == self.summary.rule else "baseline"
            pair |= {
                f"{who}_status": row["status"],
                f"{who}_objective": row["primal_bound"],
                f"{who}_s": row["cpu_s"],
                f"{who}_nodes": row["nodes"],
            }
        return tuple(pairs.values())


class PipelineResult(Value):
    """One run from instances to a registered rule; without a rule the last parts are None.

    Attributes
    ----------
    collection : CollectionResult or None
        None for a search that does without F_LF.
    final : Sample or None
        The rule that was evaluated and registered.
    choice : Choice or None
        How it was chosen on validation instances; None where there was nothing to choose.
    no_champion : str
        Why the rule is not champion, and what could help; empty where it is, or somebody is still to decide.
    """

    collection: CollectionResult | None
    evolution: EvolutionResult
    final: Sample | None = None
    choice: Choice | None = None
    evaluation: EvaluationResult | None = None
    registered: RegisteredRule | None = None
    no_champion: str = ""
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Sample | None:
        """The final rule: source, thought, F_LF and F_HF; the search's best where nothing else was chosen."""
        return self.final or self.evolution.best

    @property
    def champion(self) -> bool:
        """Whether the rule now holds the alias ``champion``."""
        return self.registered is not None and "champion" in self.registered.aliases
