"""What a report is made of: one evaluation or several, and the searches that led to the rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from types import MappingProxyType
from typing import Annotated, TypeAlias

import pandas as pd
from pydantic import AfterValidator, Field

from bife_core.evaluation.comparing import Comparison, adjusted, conclusion
from bife_core.evaluation.measuring import with_identity
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.report.tables import PaperTable, paper_tables, split_setting
from bife_core.scip.cost import Cost
from bife_core.search import Sample
from bife_core.search.cost import SearchCost
from bife_core.stats import CONFIDENCE
from bife_core.values import Value
from bife_core.wording import counted, level_text


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


def with_distinct_names(evaluations: tuple[EvaluationSummary, ...]) -> tuple[EvaluationSummary, ...]:
    """Return evaluations in which one label is one method, and one setting one measurement.

    Names of rules recur from search to search. An evaluation that may promote a rule draws test instances of its own,
    and the same instances may have been solved on a slower day: means over different solves do not compare. Evaluations
    that share the baseline's solves on a setting count as one measurement of it; others are named after their rules.
    """
    identities: dict[str, set[str]] = {}
    for one in evaluations:
        for label, method in one.methods.items():
            identities.setdefault(label, set()).add(method.identity)
    relabelled = [
        _renamed(
            one,
            labels={
                label: with_identity(label, method)
                for label, method in one.methods.items()
                if len(identities[label]) > 1
            },
        )
        for one in evaluations
    ]
    rules: dict[str, dict[_Solves, list[str]]] = {}
    for one in relabelled:
        for setting in one.settings:
            rules.setdefault(setting, {}).setdefault(_baseline_solves(one, setting), []).append(one.rule)
    names: dict[tuple[str, _Solves], str] = {}
    for setting, measured in rules.items():
        for solves, led in measured.items():
            names[setting, solves] = setting
            if len(measured) > 1:
                names[setting, solves] = _named_after(setting, led, {*rules, *names.values()})
    return tuple(
        _renamed(
            one,
            settings={setting: names[setting, _baseline_solves(one, setting)] for setting in one.settings},
        )
        for one in relabelled
    )


_Solves: TypeAlias = frozenset[tuple[str, int, float | None]]


def _baseline_solves(evaluation: EvaluationSummary, setting: str) -> _Solves:
    """Return instance, seed and seconds of the baseline's solves, which no two measurements have in common."""
    return frozenset(
        (row["digest"], row["seed"], row["cpu_s"])
        for row in evaluation.rows
        if row["setting"] == setting and row["method"] == evaluation.baseline
    )


def _named_after(setting: str, rules: Sequence[str], taken: Collection[str]) -> str:
    """Return a name for a setting that tells whose it is, unlike those that are taken."""
    benchmark, size = split_setting(setting)
    whose = f"{benchmark} for {' and '.join(dict.fromkeys(rules))}"
    numbered = (f"{whose}{number} {size}".rstrip() for number in chain([""], (f" {n}" for n in count(2))))
    return next(name for name in numbered if name not in taken)


def _renamed(
    evaluation: EvaluationSummary,
    labels: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> EvaluationSummary:
    """Return an evaluation with other labels of methods, or names of settings, wherever they stand."""

    def label(method: str) -> str:
        return labels.get(method, method)

    def named(setting: str) -> str:
        return settings.get(setting, setting)

    return evaluation.model_copy(
        update={
            "rule": label(evaluation.rule),
            "baseline": label(evaluation.baseline),
            "methods": {label(name): method for name, method in evaluation.methods.items()},
            "rows": tuple(
                row | {"setting": named(row["setting"]), "method": label(row["method"])}
                for row in evaluation.rows
            ),
            "comparisons": tuple(
                compared.model_copy(
                    update={
                        "setting": named(compared.setting),
                        "method": label(compared.method),
                        "baseline": label(compared.baseline),
                    }
                )
                for compared in evaluation.comparisons
            ),
        }
    )


class Report(Value):
    """Everything on a page.

    Attributes
    ----------
    evaluations : tuple of EvaluationSummary
        One at least. Tests are adjusted over the comparisons of all of them.
    """

    evaluations: Annotated[tuple[EvaluationSummary, ...], AfterValidator(with_distinct_names)] = Field(
        min_length=1
    )
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

    @cached_property
    def frames(self) -> dict[Cost, pd.DataFrame]:
        """The solves by the metric that methods are compared by on their setting."""
        settings: dict[Cost, list[str]] = {}
        for evaluation in self.evaluations:
            settings.setdefault(evaluation.protocol.metric, []).extend(evaluation.settings)
        return {metric: self.frame[self.frame["setting"].isin(held)] for metric, held in settings.items()}

    @cached_property
    def tables(self) -> tuple[PaperTable, ...]:
        """Tables in the paper's layout, one for each metric and size."""
        return tuple(table for metric, part in self.frames.items() for table in paper_tables(part, metric))

    @property
    def conclusion(self) -> str:
        """The sentence the page begins with."""
        return conclusion(self.leading)

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
    if evaluation.use > 1:
        found.append(
            f"{evaluation.use - 1} evaluations used this test set before, to promote a rule or not. "
            f"Intervals and tests are at {level_text(evaluation.lead.confidence)}, so that all uses together keep to "
            f"{level_text(CONFIDENCE)}."
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
    left = frame.reindex(columns=["undecided", "rule_errors", "overtime", "featureless"]).fillna(0)
    fell_back = int(left.sum(axis="columns").gt(0).sum())
    if fell_back:
        found.append(f"In {counted(fell_back, 'solve')} a rule fell back to SCIP's default at some nodes.")
    return found
