"""All stages in order: settings and rule take turns, and what they end with is evaluated and registered."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from bife_core.base.wording import counted
from bife_core.language.components import COMPONENTS
from bife_core.language.rules.reference_rules import BENCHMARK_RULES
from bife_core.measure.evaluation.choice import Choice, choose
from bife_core.measure.evaluation.comparison import WORTHWHILE, statement
from bife_core.measure.evaluation.protocol import unique
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.run.config import PipelineConfig
from bife_core.run.show.report import Story
from bife_core.run.stages.collect import collect
from bife_core.run.stages.conclusions import pipeline_conclusion
from bife_core.run.stages.evaluate import evaluate
from bife_core.run.stages.held_out import no_champion_by, unseen_instances
from bife_core.run.stages.precheck import fewer_samples, precheck
from bife_core.run.stages.register import no_champion, present_champion, register_rule
from bife_core.run.stages.resolve import resolved
from bife_core.run.stages.results import PipelineResult, TuningResult
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.search import NO_RULE, require_generator, search
from bife_core.run.stages.tune import AT_HAND, tune, what_brought
from bife_core.run.study import SearchOutcome
from bife_core.run.study.files import keep_rule
from bife_core.search import Sample, open_search
from bife_core.search.generators.account import left_of
from bife_core.search.population import ranked
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import budgeted, method_of, parts_of
from bife_core.tuning.space import BRANCHING, FOUND

WITHOUT_RULE: Final = ("pscost",)
"""What may branch, beside RPB, in SCIP that is tuned without any rule of ours."""
TUNED_SCIP: Final = "tuned SCIP"
"""What that is called."""


def run(config: PipelineConfig, runtime: Runtime) -> PipelineResult:
    """Discover settings and a rule for a benchmark and register them; it goes on where it stopped.

    The settings are tuned before the search and again around its best rule, and the best of all is chosen on validation
    instances. Beside it are evaluated its rule alone, and SCIP tuned as long without any rule.
    """
    conduct = runtime.conductor.stage
    require_generator(config, runtime)
    runtime.observer.stage("precheck", "what SCIP takes on a few instances")
    hopeless: tuple[str, ...] = ()
    if config.instances.folder is not None:
        hopeless = no_champion_by(unseen_instances(config, runtime), config, runtime)
    goes = runtime.conductor.step(
        "pre-check", "measure where SCIP's time goes", lambda: precheck(config, runtime)
    )
    notes, config = runtime.noted((*hopeless, goes.sentence)), resolved(goes.put_into(config), runtime)
    if goes.expected is not None:
        runtime.observer.expect(goes.expected)
    first_s = goes.before * config.tune.seconds
    tuned = conduct(tune, config, runtime, first_s, beside=True) if config.tune.seconds else None
    under, rest = (config, None) if tuned is None else _under(config, tuned)
    under, fewer = runtime.conductor.step(
        "split", "measure what is left for rules", lambda: fewer_samples(under, runtime, rest)
    )
    notes += runtime.noted(filter(None, [fewer]))
    collected = conduct(collect, under, runtime, rest) if open_search(config.search).reads_decisions else None
    beside = None if tuned is None else _beside(config, tuned)
    decisions = None if collected is None else collected.summary
    search_result = conduct(search, under, runtime, decisions, beside, rest)
    notes += tuple(
        note for part in (tuned, collected, search_result) if part is not None for note in part.notes
    )
    if search_result.best is None and (tuned is None or tuned.tuning.configuration.identity == RPB):
        result = PipelineResult(
            config=config, collection=collected, tuned=tuned, search=search_result, notes=notes
        )
        runtime.conductor.conclude(config.instances.label, "pipeline", pipeline_conclusion(result))
        return result
    methods, steps = _finalists(config, search_result), None
    if tuned is not None:
        left_s = config.tune.seconds - first_s
        again = _tuned_again(config, runtime, left_s, methods[0], tuned) if methods else tuned
        notes, methods = (*notes, *again.notes), _complete(methods, tuned, again)
    method, choice = _chosen(config, runtime, methods)
    courses = {}
    if tuned is not None:
        steps = what_brought(config, runtime, method, tuned, again)
        courses = {"tuned": tuned.tuning.course}
        courses |= {"tuned again": again.tuning.course} if again is not tuned else {}
    notes += runtime.noted([steps.sentence] if steps is not None else ())
    shas = {part.identity for part in parts_of(method)}
    final = next((sample for sample in ranked(search_result.samples) if sample.sha in shas), None)
    others: dict[str, str | Method] = {}  # by where a reader finds each
    if tuned is not None and (share := config.tune.without_rule):
        without = conduct(
            tune, config, runtime, share * config.tune.seconds, WITHOUT_RULE, "tuned_scip", beside=True
        )
        others[str(without.path)] = without.tuning.configuration.model_copy(update={"name": TUNED_SCIP})
        notes = (*notes, *without.notes)
    if tuned is not None and (alone := search_result.best) is not None:
        others[str(search_result.best_rule)] = method_of(alone.source or "", alone.id)
    # The registry, which may hold one of them, is asked before the solves.
    others |= {reference: reference for reference in present_champion(config, runtime)}
    methods = [runtime.method(other) if isinstance(other, str) else other for other in others.values()]
    places = {other.identity: place for other, place in zip(methods, others, strict=True)}
    keep_rule(search_result.folder, method)  # for whom the best rule alone is not enough
    evaluated = conduct(
        evaluate,
        config,
        runtime,
        method,
        others=tuple(others.values()),
        choice=choice,
        promoting=True,
        story=Story(ablation=steps, tunings=courses),
        found_by=search_result.key,
    )
    registered, further = register_rule(config, runtime, evaluated)
    standing = no_champion(registered, runtime) if registered is not None else ""
    advice = next_step(evaluated.summary, places)
    result = PipelineResult(
        config=config,
        collection=collected,
        search=search_result,
        final=final,
        choice=choice,
        tuned=tuned,
        evaluation=evaluated,
        registered=registered,
        no_champion=standing,
        advice=advice,
        notes=tuple(dict.fromkeys((*notes, *evaluated.notes, *further))),  # stages share instances
    )
    runtime.conductor.conclude(config.instances.label, "pipeline", pipeline_conclusion(result))
    if evaluated.summary.judged.finding != "better" and (
        search_result.new or runtime.conductor.present.tried_again
    ):
        runtime.conductor.announce(NO_RULE, f"search.{search_result.key}", {"reason": evaluated.sentence})
    return result


def _under(config: PipelineConfig, tuned: TuningResult) -> tuple[PipelineConfig, Configuration | None]:
    """Return the settings of a search, and what it keeps of what was tuned: all but what it looks for."""
    best, part = tuned.tuning.configuration, COMPONENTS.find(config.search.component).part
    rest = best.model_copy(update={part: getattr(Configuration(), part)})
    rest = rest.model_copy(update={"name": rest.branching.name})
    under = config.model_copy(update={"budget": left_of(config.budget, tuned.spending)})
    return under, None if rest.identity == RPB else rest


def _beside(config: PipelineConfig, tuned: TuningResult) -> dict[str, float]:
    """Return the F_HF of SCIP's default settings on the design instances on which they were measured."""
    first = tuned.tuning.trials[0].raced.costs[: config.high.instances]
    costs = [cost for cost in first if cost is not None]
    where = "" if len(costs) == config.high.instances else f" on {counted(len(costs), 'instance')}"
    return {f"SCIP default settings{where}": -fmean(costs)} if costs else {}


def _finalists(config: PipelineConfig, search_result: SearchOutcome) -> list[Method]:
    """Return the best rules of a search, best first, and that one with budgets; without F_HF it alone."""
    if (best := search_result.best) is None:
        return []
    few = finalists(search_result.samples, config.validation.finalists) if best.f_hf is not None else (best,)
    rules = [method_of(sample.source or "", sample.id) for sample in few]
    return rules + (budgeted(rules[0], config.validation.budgets) if best.f_hf is not None else [])


def finalists(samples: Sequence[Sample], count: int) -> tuple[Sample, ...]:
    """Return the rules with the best F_HF, best first, each rule once however often it was written."""
    distinct: dict[str | None, Sample] = {}
    for sample in ranked(samples):
        if sample.failure is None and sample.f_hf is not None and sample.source:
            distinct.setdefault(sample.sha, sample)
    return tuple(distinct.values())[:count]


def _tuned_again(
    config: PipelineConfig, runtime: Runtime, seconds: float, best: Method, tuned: TuningResult
) -> TuningResult:
    """Tune from the whole that a search ended with; the paper's rules, which often beat `general`, take part."""
    before, published = tuned.tuning.best.choices, tuple(BENCHMARK_RULES.values())
    searched = before | {COMPONENTS.find(config.search.component).part: FOUND}
    first = (dict(before), searched, *(before | {BRANCHING: rule} for rule in published))
    methods = (*AT_HAND, *published)
    return runtime.conductor.stage(tune, config, runtime, seconds, methods, "tuned_again", best, first, True)


def _complete(parts: list[Method], tuned: TuningResult, again: TuningResult) -> list[Method]:
    """Return what tuning ended with, the parts that a search found with the rest of its configuration, and that.

    Where tuning changed nothing it ended with what branches, which keeps its name.
    """
    first, last = tuned.tuning.configuration, again.tuning.configuration
    complete = [first.with_part(part) for part in parts]
    named = (last, "tuned again"), (first, "tuned")
    ends = [
        settings.model_copy(update={"name": name}) if settings.changes else settings.branching
        for settings, name in named
    ]
    return [method for method in (ends[0], *complete, ends[1]) if method.identity != RPB]


def _chosen(config: PipelineConfig, runtime: Runtime, methods: list[Method]) -> tuple[Method, Choice | None]:
    """Return the best method on instances of their own, and how it was chosen; without these the first."""
    methods = unique(methods)
    if len(methods) > 1:
        instances = runtime.instances(config.instances, "validation", config.validation.instances)
        count = max(config.high.instances, config.tune.instances if config.tune.seconds else 0)
        design = runtime.instances(config.instances, "design", count)
        digests, seen = ({instance.digest for instance in drawn.instances} for drawn in (instances, design))
        if digests - seen:
            about = f"{len(methods)} methods on {len(instances.instances)} instances of their own"
            runtime.observer.stage("validation", about)
            choice = runtime.conductor.step(
                "validate",
                "choose the final rule",
                lambda: choose(
                    methods, instances.instances, runtime.solving(config), runtime.observer.progress
                ),
            )
            runtime.observer.log(logging.INFO, choice.sentence)
            return next(method for method in methods if method.name == choice.chosen), choice
    return methods[0], None


def next_step(summary: EvaluationSummary, places: Mapping[str, str]) -> str:
    """Return "use" or "search longer" with the number behind it, or "stop"; `places` of methods are by identity.

    Where the leading method is significantly better, only settings without a rule that do as well are named.
    """
    judged, methods = summary.judged, summary.methods
    better = [
        comparison
        for comparison in summary.comparisons
        if (comparison.metric, comparison.finding) == (judged.metric, "better")
        and comparison.method != summary.rule
        and methods[comparison.method].identity in places
    ]
    if judged.finding == "better":
        for comparison in better:
            if (method := methods[comparison.method]).by_scip and comparison.ratio <= judged.ratio:
                place = places[method.identity]
                return f"Settings without a rule do as well: {place}. {statement(comparison)}"
        return ""
    if better:
        best = min(better, key=lambda comparison: comparison.ratio)
        what = "these settings" if (method := methods[best.method]).by_scip else "this rule"
        return f"Use {what}: {places[method.identity]}. {statement(best)}"
    if judged.further and judged.likely and judged.ratio <= WORTHWHILE and not judged.obstacle:
        return (
            f"Add instances: {judged.likely} more held-out {judged.unit}s would show it at the measured ratio, "
            f"{judged.ratio:.3f}, and {judged.further} at least; about half of a folder is held out."
        )
    return "Stop: nothing to gain here."
