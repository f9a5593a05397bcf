"""The data of a report: one evaluation or several, and the searches that led to the rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from pydantic import Field

from bife_core.base.stats import CONFIDENCE
from bife_core.base.values import Value
from bife_core.base.wording import counted, level_text
from bife_core.measure.evaluation.comparison import Comparison, adjusted, statement
from bife_core.measure.evaluation.metrics import method_table
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.search import Sample
from bife_core.search.types import SearchCost
from bife_core.solver.scip.branching import FALLBACKS
from bife_core.tuning.ablation import Ablation
from bife_core.tuning.tuner import Course

if TYPE_CHECKING:
    import pandas as pd


class SearchRecord(Value):
    """A search for readers; unknown fields stay empty."""

    name: str
    best: str  # id of the rule it ended with
    samples: tuple[Sample, ...] = ()
    cost: SearchCost | None = None
    chosen: str = ""  # why that rule, where more than F_HF decided
    origin: str = ""  # where its rules came from, see `PipelineConfig.origin_of_rules`
    tau: float | None = None  # of the last generation

    @property
    def spent(self) -> str:
        """A sentence on the cost of the search, in total and for each rule promoted to F_HF."""
        cost = self.cost
        if cost is None:
            return ""

        def words(rules: int) -> str:
            usd = "" if cost.usd is None else f" (${float(cost.usd) / rules:.3g})"
            tokens = f"{cost.tokens / rules:,.0f} tokens{usd} and " if cost.tokens else ""
            return f"{tokens}{cost.work_s / rules:,.0f} s of work, {cost.solver_s / rules:,.0f} s of it in the solver"

        each = f"; for each of the {cost.solved} promoted to F_HF {words(cost.solved)}" if cost.solved else ""
        return f"The {self.name} search for {self.best} sampled {cost.samples} rules in {words(1)}{each}."


class Story(Value):
    """The searches behind an evaluation's rules, what is known of its settings, and notes on its validity."""

    searches: tuple[SearchRecord, ...] = ()
    notes: tuple[str, ...] = ()
    ablation: Ablation | None = None
    tunings: dict[str, Course] = {}  # noqa: RUF012 - pydantic copies it; by name


class Report(Value):
    """The content of a page; tests are adjusted over the comparisons of all evaluations."""

    evaluations: tuple[EvaluationSummary, ...] = Field(min_length=1)
    stories: tuple[Story, ...] = ()

    @cached_property
    def frames(self) -> tuple[pd.DataFrame, ...]:
        """The solves of each evaluation."""
        return tuple(evaluation.frame for evaluation in self.evaluations)

    @cached_property
    def methods(self) -> tuple[pd.DataFrame, ...]:
        """What each method did in each evaluation, see `method_table`."""
        judged = zip(self.frames, self.evaluations, strict=True)
        return tuple(method_table(frame, evaluation.protocol.metric) for frame, evaluation in judged)

    @property
    def comparisons(self) -> tuple[tuple[Comparison, ...], ...]:
        """The comparisons of each evaluation, all adjusted together."""
        single = len(self.evaluations) == 1  # of several evaluations no comparison was set in advance
        pooled = (comparison for evaluation in self.evaluations for comparison in evaluation.comparisons)
        every = iter(adjusted([c.model_copy(update={"primary": c.primary and single}) for c in pooled]))
        return tuple(tuple(islice(every, len(evaluation.comparisons))) for evaluation in self.evaluations)

    @property
    def statements(self) -> tuple[str, ...]:
        """A sentence on each comparison, and on each method that left branchings to SCIP."""
        by_scip = (sentence for each in self.evaluations for sentence in each.branched_by_scip)
        return (*map(statement, chain.from_iterable(self.comparisons)), *by_scip)

    @property
    def conclusion(self) -> str:
        """The first sentences of the page: on the leading method of each evaluation, and on SCIP's settings."""
        settings = list(dict.fromkeys(each.solver.sentence for each in self.evaluations))
        if len(settings) > 1:
            settings = [f"{each.setting}: {each.solver.sentence}" for each in self.evaluations]
        sentences = []
        for lead, *_ in self.comparisons:
            sentences += [statement(lead), *([lead.worst_case] if lead.worst_instance else [])]
            sentences += filter(None, [lead.scatter])
        return " ".join([*sentences, *settings])

    @property
    def searches(self) -> tuple[SearchRecord, ...]:
        """Searches of all stories."""
        return tuple(search for story in self.stories for search in story.searches)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on what limits the result: missing solves, unequal conditions, small samples."""
        notes = [note for story in self.stories for note in story.notes]
        for evaluation, frame in zip(self.evaluations, self.frames, strict=True):
            notes += evaluation.failures
            notes += [f"Proven optima differ, which is a defect: {pair}" for pair in evaluation.mismatches]
            notes += evaluation.cautions
            notes += [f"{evaluation.setting}: {condition}" for condition in _conditions(evaluation, frame)]
            notes += [f"{c.method} on {c.setting}: {c.note}." for c in evaluation.comparisons if c.note]
        return tuple(dict.fromkeys(notes))


def _conditions(evaluation: EvaluationSummary, frame: pd.DataFrame) -> Iterator[str]:
    machine, limit = evaluation.machine, evaluation.protocol.time_limit_s
    if machine is not None and evaluation.workers > machine.physical_cores:
        cores = f"{machine.physical_cores} physical cores"
        yield f"{evaluation.workers} solves ran at once on {cores}: hyper-threads shared caches and units."
    waited = float((frame["wall_s"] / frame["cpu_s"].clip(lower=1e-3)).median())
    if waited > 1.1:
        yield (
            f"The machine did other work too: in the median a solve took {waited:.1f} times its CPU time by the "
            "clock on the wall. CPU times are compared, but caches and memory were shared."
        )
    if evaluation.use > 1:
        yield (
            f"Rules were compared {evaluation.use - 1} times before on some of these test instances. "
            f"Intervals and tests are at {level_text(evaluation.lead.confidence)}, so that all uses together keep to "
            f"{level_text(CONFIDENCE)}."
        )
    if missing := int(frame["missing"].sum()):
        yield (
            f"{missing} of {len(frame)} solves are missing or wrong; each counts with the limit of {limit:g} s or what "
            "the slowest method took, and as the worst of its instance in all else."
        )
    if unsolved := int((~frame["solved"] & ~frame["missing"]).sum()):
        yield (
            f"{unsolved} of {len(frame)} solves ended without {evaluation.solver.goal} and count with the "
            f"limit of {limit:g} s, which flatters the slower method; their nodes and LP iterations count as far as "
            "they got."
        )
    left = frame.reindex(columns=FALLBACKS).fillna(0)
    if fell_back := int(left.sum(axis="columns").gt(0).sum()):
        yield f"In {counted(fell_back, 'solve')} a rule fell back to SCIP's default at some nodes."
