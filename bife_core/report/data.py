"""What a report is made of: one evaluation or several, and the searches that led to the rules."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

import pandas as pd
from pydantic import AfterValidator, Field

from bife_core.evaluation.comparing import Comparison, adjusted
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.evaluation.verdict import verdict
from bife_core.report.tables import split_setting
from bife_core.search import Sample
from bife_core.search.cost import SearchCost
from bife_core.values import Value


class SearchRecord(Value):
    """A search as a reader wants to see it; what is not known stays empty.

    Attributes
    ----------
    best : str
        Id of the rule it ended with.
    chosen : str
        Why that rule, where more than F_HF decided; empty otherwise.
    origin : str
        Where its rules came from, see `PipelineConfig.origin_of_rules`.
    """

    name: str
    best: str
    samples: tuple[Sample, ...] = ()
    cost: SearchCost | None = None
    chosen: str = ""
    origin: str = ""


class Story(Value):
    """What an evaluation's solves do not tell.

    Attributes
    ----------
    commands : tuple of str
        What to type to repeat it.
    searches : tuple of SearchRecord
        The searches behind its rules.
    notes : tuple of str
        Sentences on how far the result reaches.
    """

    commands: tuple[str, ...] = ()
    searches: tuple[SearchRecord, ...] = ()
    notes: tuple[str, ...] = ()


def told_apart(evaluations: tuple[EvaluationSummary, ...]) -> tuple[EvaluationSummary, ...]:
    """Return evaluations with settings named after their rule where two of one name hold different instances.

    An evaluation that may promote a rule draws test instances of its own; means over different ones do not compare.
    """
    held: dict[str, set[frozenset[str]]] = {}
    for one in evaluations:
        for setting in one.settings:
            digests = frozenset(row["digest"] for row in one.rows if row["setting"] == setting)
            held.setdefault(setting, set()).add(digests)

    def named(setting: str, rule: str) -> str:
        if len(held[setting]) == 1:
            return setting
        benchmark, size = split_setting(setting)
        return f"{benchmark} for {rule} {size}".rstrip()

    return tuple(
        one.model_copy(
            update={
                "rows": tuple(row | {"setting": named(row["setting"], one.rule)} for row in one.rows),
                "comparisons": tuple(
                    compared.model_copy(update={"setting": named(compared.setting, one.rule)})
                    for compared in one.comparisons
                ),
            }
        )
        for one in evaluations
    )


class Report(Value):
    """Everything on a page.

    Attributes
    ----------
    evaluations : tuple of EvaluationSummary
        One at least. Tests are adjusted over the comparisons of all of them.
    """

    evaluations: Annotated[tuple[EvaluationSummary, ...], AfterValidator(told_apart)] = Field(min_length=1)
    stories: tuple[Story, ...] = ()

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, adjusted together."""
        return adjusted([c for evaluation in self.evaluations for c in evaluation.comparisons])

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All solves; of a setting that several evaluations hold, the later one counts."""
        frames = [
            evaluation.frame().assign(evaluation=number) for number, evaluation in enumerate(self.evaluations)
        ]
        joined = pd.concat(frames, ignore_index=True)
        return joined.drop_duplicates(["setting", "digest", "seed", "method"], keep="last")

    @property
    def verdict(self) -> str:
        """The sentence the page begins with."""
        return verdict(self.leading)

    @cached_property
    def leading(self) -> tuple[Comparison, ...]:
        """The leading method of each evaluation against its baseline, one comparison per setting."""
        rules = [evaluation.rule for evaluation in self.evaluations for _ in evaluation.comparisons]
        return tuple(c for c, rule in zip(self.comparisons, rules, strict=True) if c.method == rule)

    @property
    def lead(self) -> Comparison:
        """The first comparison: the leading method on the first setting."""
        return self.comparisons[0]

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands of all stories."""
        return tuple(dict.fromkeys(command for story in self.stories for command in story.commands))

    @property
    def searches(self) -> tuple[SearchRecord, ...]:
        """Searches of all stories."""
        return tuple(search for story in self.stories for search in story.searches)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What limits the result, in sentences: missing solves, unlike conditions, short samples."""
        found = [note for story in self.stories for note in story.notes]
        for evaluation in self.evaluations:
            found += evaluation.failures
            found += [f"Proven optima differ, which is a defect: {one}" for one in evaluation.mismatches]
            where = f"{', '.join(evaluation.settings)}: " if len(self.evaluations) > 1 else ""
            found += [f"{where}{one}" for one in _conditions(evaluation)]
        found += [f"{c.method} on {c.setting}: {c.note}." for c in self.comparisons if c.note]
        return tuple(dict.fromkeys(found))


def _conditions(evaluation: EvaluationSummary) -> list[str]:
    """Return sentences on the conditions of a measurement that a reader should weigh."""
    found = []
    machine = evaluation.machine
    if machine is not None and evaluation.workers > machine.physical_cores:
        found.append(
            f"{evaluation.workers} solves ran at once on {machine.physical_cores} physical cores: hyper-threads "
            "shared caches and execution units."
        )
    frame = evaluation.frame()
    waited = float((frame["wall_s"] / frame["cpu_s"].clip(lower=1e-3)).median())
    if waited > 1.1:
        found.append(
            f"The machine did other work too: in the median a solve took {waited:.1f} times its CPU time by the "
            "clock on the wall. CPU times are compared, but caches and memory were shared."
        )
    if evaluation.look > 1:
        found.append(
            f"{evaluation.look - 1} evaluations looked at this test set before, to promote a rule or not. "
            f"Intervals and tests are at {100 * evaluation.lead.confidence:.4g} %, so that all looks together keep to "
            f"{100 * evaluation.protocol.confidence:g} %."
        )
    missing = int(frame["missing"].sum())
    if missing:
        found.append(
            f"{missing} of {len(frame)} solves are missing or wrong; each counts with the limit of "
            f"{evaluation.protocol.time_limit_s:g} s or what the slowest method took, and as the worst of its instance "
            "in all else."
        )
    unsolved = int((~frame["solved"] & ~frame["missing"]).sum())
    if unsolved:
        found.append(
            f"{unsolved} of {len(frame)} solves ended without {evaluation.protocol.solver.goal} and count with the "
            f"limit of {evaluation.protocol.time_limit_s:g} s, which flatters the slower method; their nodes and LP "
            "iterations count as far as they got."
        )
    if evaluation.reused and evaluation.protocol.reuse_baseline:
        found.append(f"{evaluation.reused} solves are reused from earlier evaluations on this machine.")
    left = frame.reindex(columns=["undecided", "rule_errors", "overtime", "featureless"]).fillna(0)
    handed_over = int(left.sum(axis="columns").gt(0).sum())
    if handed_over:
        found.append(f"In {handed_over} solves a rule left some branchings to SCIP.")
    return found
