"""Between search and evaluation: the final rule is chosen on instances that are neither design nor test."""

from __future__ import annotations

from pathlib import Path

from bife_core.config import PipelineConfig
from bife_core.evaluation.choosing import Choice
from bife_core.methods.base import Method
from bife_core.methods.loading import budgeted, method_of
from bife_core.search import Sample
from bife_core.study.files import keep_rule
from flows.results import EvolutionResult
from tasks.collection import prepare_instances
from tasks.evolution import finalists, validate
from tasks.stores import observer


def choose_final(
    config: PipelineConfig, evolved: EvolutionResult, best: Sample
) -> tuple[Sample, Path, Choice | None]:
    """Return the final rule of a search, the file of its method, and how it was chosen.

    The best rule is also tried with budgets, so that the file may hold a rule with one. A search that measured no F_HF
    has nothing to choose among, nor has one of a single rule without budgets: its best rule is the final one and there
    is no `Choice`. The same holds where the validation instances are those of the design.
    """
    few = finalists(evolved.samples, config.validation.finalists) if best.f_hf is not None else (best,)
    methods: list[tuple[Sample, Method]] = [
        (sample, method_of(sample.source or "", sample.id)) for sample in few
    ]
    (sample, method), choice = methods[0], None
    if best.f_hf is not None:
        methods += [(sample, one) for one in budgeted(method, config.validation.budgets)]
    if len(methods) > 1:
        instances = prepare_instances(config.instances, "validation", config.validation.instances)
        design = prepare_instances(config.instances, "design", config.high.instances)
        others = {one.digest for one in instances.instances} - {one.digest for one in design.instances}
        if others:
            about = f"{len(methods)} rules on {len(instances.instances)} instances of their own"
            observer().stage("validation", about)
            choice = validate([one for _, one in methods], instances, config)
            sample, method = next(both for both in methods if both[1].name == choice.chosen)
    # Reports call a plain rule by the name of its file, which others say themselves.
    return sample, keep_rule(evolved.folder, method), choice
