"""Between search and evaluation: the final rule is chosen on instances that are neither design nor test."""

from __future__ import annotations

from pathlib import Path

from bife_core.config import PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.files import write_whole
from bife_core.search import Sample
from flows.reporting.observer import observer
from flows.results import EvolutionResult
from tasks.collection import prepare_instances
from tasks.evolution import finalists, validate


def choose_final(config: PipelineConfig, evolved: EvolutionResult) -> tuple[Sample, Path, Choice | None]:
    """Return the final rule of a search, its file, and how it was chosen.

    A search that measured no F_HF, or of only one rule, has nothing to choose among: its best rule is the final one
    and there is no `Choice`. The same holds where the validation models are those of the design.

    Raises
    ------
    BifeError
        If validation instances cannot be had, or every finalist failed on them.
    ValueError
        If the search found no rule.
    """
    best = evolved.best
    if best is None:
        raise ValueError("A search without a rule has no final one.")
    few = finalists(evolved.samples, config.validation.finalists)
    if best.f_hf is None or len(few) < 2:
        return best, _file(evolved, best), None
    instances = prepare_instances(config.instances, "validation", config.validation.instances)
    design = prepare_instances(config.instances, "design", config.high.instances)
    known = {instance.digest for instance in design.instances}
    if all(instance.digest in known for instance in instances.instances):
        return best, _file(evolved, best), None
    observer().stage("validation", f"{len(few)} rules on {len(instances.instances)} instances of their own")
    sources = {sample.id: sample.source or "" for sample in few}
    choice = validate(sources, instances, config.high, config.runner)
    chosen = next(sample for sample in few if sample.id == choice.chosen)
    return chosen, _file(evolved, chosen), choice


def _file(evolved: EvolutionResult, final: Sample) -> Path:
    """Write the final rule under its id, by which reports will call it, and return the file."""
    path = evolved.folder / f"{final.id}.py"
    write_whole(path, final.source or "")
    return path
