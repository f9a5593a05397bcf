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


def choose_final(
    config: PipelineConfig, evolved: EvolutionResult, best: Sample
) -> tuple[Sample, Path, Choice | None]:
    """Return the final rule of a search, its file, and how it was chosen.

    A search that measured no F_HF, or of only one rule, has nothing to choose among: its best rule is the final one
    and there is no `Choice`. The same holds where the validation instances are those of the design.
    """
    choice, final = None, best
    few = finalists(evolved.samples, config.validation.finalists) if best.f_hf is not None else []
    if len(few) > 1:
        instances = prepare_instances(config.instances, "validation", config.validation.instances)
        design = prepare_instances(config.instances, "design", config.high.instances)
        others = {one.digest for one in instances.instances} - {one.digest for one in design.instances}
        if others:
            about = f"{len(few)} rules on {len(instances.instances)} instances of their own"
            observer().stage("validation", about)
            sources = {sample.id: sample.source or "" for sample in few}
            choice = validate(sources, instances, config)
            final = next(sample for sample in few if sample.id == choice.chosen)
    path = evolved.folder / f"{final.id}.py"  # reports call the rule by the name of its file
    write_whole(path, final.source or "")
    return final, path, choice
