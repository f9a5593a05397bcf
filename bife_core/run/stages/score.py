"""Rules that somebody else writes, scored one after the other in a study of their own: what `bife score` does."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from statistics import fmean
from typing import Any, Final

from bife_core.base.errors import GeneratorError
from bife_core.base.stats import CONFIDENCE, ratio_interval, signed_rank_test
from bife_core.base.values import Value
from bife_core.instances.base import Instance
from bife_core.measure.context import Reference, cost_of
from bife_core.measure.evaluation.comparison import finding
from bife_core.measure.high import HighScore
from bife_core.run.config import PipelineConfig, RunnerConfig
from bife_core.run.presets import with_overrides
from bife_core.run.stages.resolve import resolved
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.search import opened
from bife_core.run.study import Study
from bife_core.run.study.files import keep_rule
from bife_core.run.study.prompt_context import Past, execution
from bife_core.search.bife import GIVEN
from bife_core.search.generators import Draft, PromptContext
from bife_core.search.generators.prompting import assemble
from bife_core.search.population import by_high_fidelity
from bife_core.search.types import Sample, SampleRequest, WrittenRequest
from bife_core.solver.methods.references import method_of
from bife_core.workers import WorkerFailure, WorkerPool, Workers

_OWN: Final = {"search.algorithm": GIVEN, "search.initial": 1, "search.samples": 1, "search.first_rules": ()}


class RuleScore(Value):
    """What a search learns of a rule so far; other rules are given as name and id, such as "ours.py (g00-c00)".

    `failure` is why it is no valid rule or failed in the solver, `eliminated` why it lost its race: it has an F_HF only
    if no instance was left. `duplicate_of` chooses alike in all recorded decisions and has the same F_HF. What was
    scored `again` was not solved anew. Of `f_lf` and `f_hf` higher is better. `regret` is the share of the best
    strong-branching score that its choices miss on average; it is `fitted` if fitting changed its numbers. `ratio` is
    the geometric mean of its costs over RPB's on the design instances that were solved, with its bootstrap interval:
    each counts alike, whereas in `f_hf`, minus the mean cost, the costliest count most.

    `undecided` are other rules, best first, that costs instance by instance do not distinguish from it, by a Wilcoxon
    signed-rank test and a bootstrap interval, each at 95 %. `instances` has a row for each design instance that was
    solved, the costliest over RPB's first, and `table` the first and last four to read, with the time a node takes.
    `choices` says where it chooses otherwise than strong branching, and which features it needs. `solver_s` are CPU
    seconds so far, recording decisions and RPB's solves included, which `budget.solver_s` limits.
    """

    name: str
    sample: str
    again: bool = False
    failure: str | None = None
    eliminated: str | None = None
    duplicate_of: str | None = None
    f_lf: float | None = None
    f_hf: float | None = None
    regret: float | None = None
    fitted: bool = False
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    undecided: tuple[str, ...] = ()
    best: str | None = None
    best_f_hf: float | None = None
    instances: tuple[dict[str, Any], ...] = ()
    table: str = ""
    choices: tuple[str, ...] = ()
    source: str | None = None
    file: str | None = None
    rules: int = 0
    solver_s: float = 0.0
    solver_limit_s: float | None = None


@dataclass
class _Given:
    """A generator that passes on what the user wrote, each once."""

    name: str = GIVEN
    drafts: list[Draft] = field(default_factory=list)

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        if not self.drafts:
            raise GeneratorError(
                "The study asks for a rule that nobody gave: score one with `bife score FILE`."
            )
        return self.drafts.pop()


def _closed(runner: RunnerConfig) -> Workers:
    """Return processes that compute nothing."""
    with WorkerPool(1) as pool:
        return pool


def score(
    config: PipelineConfig, runtime: Runtime, rules: Iterable[tuple[str, str]], fit: bool = True
) -> Iterator[RuleScore]:
    """Score rules, pairs of a name and a text (Python or a method's JSON), and yield what is learned of each.

    All rules of the same settings are in one study, with one budget; one that was scored before is read from it. With
    `fit` numbers are fitted to the decisions first. A `GeneratorError` says that the budget is used up.
    """
    config, written = resolved(with_overrides(config, _OWN), runtime), _Given()
    study, notes = opened(config, runtime, generator=written)
    pool = runtime.workers(config.runner)
    runtime.noted(notes)
    for name, text in rules:
        with study.claim():
            journal = study.journal
            drafted = {
                (answer.draft.source, answer.draft.fit): sample
                for sample, answer in journal.answers("sample").items()
                if answer.draft is not None
            }
            sample_id = drafted.get((text, fit))
            again = sample_id in journal.samples
            if sample_id is None:
                written.drafts = [Draft(source=text, fit=fit, thought=name)]
                ended = study.run(samples=1)
                if written.drafts:
                    raise GeneratorError(f"{name} was not scored. {ended.ended_by}")
                *_, sample_id = journal.answers("sample")
            elif not again:
                # A process ended on the way: what the rule lacks is solved now.
                study.config = with_overrides(study.config, {"search.samples": len(drafted)})
                study.run()
        runtime.tracker.follow(journal.key)
        yield _learned(study, pool, name, sample_id, again)


def scored_before(config: PipelineConfig, runtime: Runtime) -> list[RuleScore]:
    """Return what `score` found of each rule, best first, but no single instances; it computes nothing."""
    runtime = Runtime(runtime.home, runtime.observer, workers=_closed)
    try:
        study, _ = opened(resolved(with_overrides(config, _OWN), runtime), runtime, generator=_Given())
    except WorkerFailure:
        return []
    scores = [RuleScore(**_facts(study, sample)) for sample in study.journal.samples.values()]
    return sorted(scores, key=lambda score: math.inf if score.f_hf is None else -score.f_hf)


def brief(config: PipelineConfig, runtime: Runtime) -> str:
    """Return how a coding agent works with `score`, and what a language model is told before its first rule."""
    config = resolved(with_overrides(config, _OWN), runtime)
    study, _ = opened(config, runtime, generator=_Given())
    request = SampleRequest(id="brief", generation=0, operator="i1", seed=0)
    context = study.context.build(request, Past(), runtime.workers(config.runner))
    guide = (resources.files("bife_core.language") / "writing-rules.md").read_text(encoding="utf-8")
    messages = assemble(request, context.model_copy(update={"theme": ""}), answer=False)
    return "\n".join((guide, *(message.content for message in messages)))


def _learned(study: Study, pool: Workers, name: str, sample_id: str, again: bool) -> RuleScore:
    journal, samples = study.journal, study.journal.samples
    solved = {name: score for name, score in journal.solved.items() if name in samples}
    facts, high, reference = _facts(study, samples[sample_id]), solved.get(sample_id), journal.reference
    ranked = by_high_fidelity(samples.values())
    best = next(iter(ranked), None)
    if high is not None and reference is not None:
        rival = next((solved[sample.id] for sample in ranked if sample.id != sample_id), None)
        facts |= _solves(study, high, reference, rival)
        if facts["f_hf"] is not None:
            reached = {name: _f_hf(score, reference) for name, score in solved.items()}
            others = sorted(
                (-f_hf, name) for name, f_hf in reached.items() if f_hf is not None and name != sample_id
            )
            facts["undecided"] = tuple(
                _called(samples[name])
                for _, name in others
                if undecided(study.instances, high.costs, solved[name].costs)
            )
    choices = study.context.choices_of([samples[sample_id]], pool, indexed=True).get("failings", {})
    about: dict[str, Any] = {
        "name": name,
        "again": again,
        "best": best and _called(best),
        "best_f_hf": best and best.f_hf,
        "choices": choices.get(sample_id, ()),
        "source": samples[sample_id].source,
        "rules": len(samples),
    }
    return RuleScore(**facts | about)


def _facts(study: Study, sample: Sample) -> dict[str, Any]:
    """Return the facts of a sample, others and single instances aside, as fields of `RuleScore`."""
    journal, config = study.journal, study.config.high
    facts: dict[str, Any] = {"name": sample.thought, "sample": sample.id}
    facts |= sample.model_dump(include={"failure", "eliminated", "f_lf", "f_hf"})
    samples = list(journal.samples.values())
    if sample.eliminated is not None:
        kept = by_high_fidelity(samples[: samples.index(sample)])[: study.config.search.elite_cap]
        facts["eliminated"] = lost_to(sample.eliminated, kept)
    facts["duplicate_of"] = next(
        (_called(other) for other in samples if other.id == sample.duplicate_of), None
    )
    if (low := journal.scored.get(sample.id)) is not None:
        facts |= {"regret": low.regret, "fitted": low.source is not None}
    if sample.valid and sample.source is not None:
        facts["file"] = str(keep_rule(journal.folder, method_of(sample.source, sample.id)))
    score, reference = journal.solved.get(sample.id), journal.reference
    cpu_s = [study.collection_s, *(high.seconds for high in journal.solved.values())]
    cpu_s += [] if reference is None else [reference.cpu_s]
    facts |= {"solver_s": math.fsum(cpu_s), "solver_limit_s": study.config.budget.solver_s}
    if score is not None and reference is not None:
        best = reference.objectives
        rpb = [None if result is None else cost_of(result, config, best) for result in reference.results]
        if logs := _log_ratios(study.instances, score.costs, rpb):
            ratio = ratio_interval(logs)
            facts |= {"ratio": ratio.ratio, "ci_low": ratio.low, "ci_high": ratio.high}
        facts["f_hf"] = _f_hf(score, reference)
    return facts


def _called(sample: Sample) -> str:
    return f"{sample.thought} ({sample.id})"


def lost_to(why: str, kept: Sequence[Sample]) -> str:
    """Return why a rule lost its race against the last of those kept, which it names."""
    which = f"the worst of the {len(kept)} best rules" if len(kept) > 1 else "the best rule"
    return why.replace("the worst rule kept", f"{_called(kept[-1])}, {which} before it,")


def _f_hf(score: HighScore, reference: Reference) -> float | None:
    """Return F_HF, also that of a rule that lost its race with no instance left."""
    costs = [cost for _, cost, *_ in score.beside(reference)]
    complete = len(costs) == sum(result is not None for result in reference.results)
    return -fmean(costs) if complete and score.failure is None else None


def _solves(study: Study, high: HighScore, reference: Reference, rival: HighScore | None) -> dict[str, Any]:
    config, names = study.config.high, [instance.name for instance in study.instances]
    rows: list[dict[str, Any]] = [
        {
            "instance": result.instance,
            "status": result.status,
            "cost": cost,
            "rpb_cost": cost_of(rpb, config, reference.objectives),
            "best_cost": rival.costs[place] if rival else None,
            "nodes": result.nodes,
            "rpb_nodes": rpb.nodes,
        }
        for place, cost, result, rpb in high.beside(reference)
    ]
    rows.sort(key=lambda row: -row["cost"] / row["rpb_cost"])
    return {"instances": tuple(rows), "table": execution(high, reference, rival, config, names)}


def undecided(
    instances: Sequence[Instance], costs: Sequence[float | None], others: Sequence[float | None]
) -> bool:
    """Whether two rules cannot be told from each other by their costs of instances, at 95 %."""
    logs = _log_ratios(instances, costs, others)
    interval = ratio_interval(logs)
    return finding(interval.low, interval.high, signed_rank_test(logs), CONFIDENCE) == "undecided"


def _log_ratios(
    instances: Sequence[Instance], costs: Sequence[float | None], others: Sequence[float | None]
) -> list[float]:
    """Return the mean logarithm of the ratios in each group of instances of which both costs are facts."""
    groups = defaultdict[str, list[float]](list)
    for instance, cost, other in zip(instances, costs, others, strict=True):
        if cost is not None and other is not None:
            groups[instance.group].append(math.log(cost / other))
    return [fmean(logs) for logs in groups.values()]
