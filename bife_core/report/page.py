"""The page of a report: one file of HTML with everything in it, for any screen, in light and dark, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from bife_core import plots
from bife_core.errors import RuleError
from bife_core.evaluation.comparing import (
    branched,
    costs_by_method,
    known_as,
    not_significant,
    p_number,
    p_text,
    paired_costs,
    statement,
)
from bife_core.evaluation.metrics import METRICS, method_table
from bife_core.methods.base import Method
from bife_core.methods.rule import RuleMethod
from bife_core.plots import inline_svg
from bife_core.report.data import Report, SearchRecord
from bife_core.report.tables import CAPTION, comparison_markdown, paper_latex, paper_markdown
from bife_core.rules import complexity
from bife_core.wording import level_text


@dataclass(frozen=True)
class ReportFigure:
    """A figure on a page.

    Attributes
    ----------
    name : str
        File name without suffix.
    section : str
        ``results`` or ``search``.
    """

    name: str
    section: str
    title: str
    caption: str
    figure: Figure


def report_figures(report: Report) -> tuple[ReportFigure, ...]:
    """Return all figures the data allow, in the order of the page."""
    return (*_results(report), *_rules(report), *_searches(report))


def _results(report: Report) -> Iterator[ReportFigure]:
    frame, confidence = report.frame, report.lead.confidence
    for cost, part in report.frames.items():
        metric = METRICS[cost]
        yield ReportFigure(
            f"method-costs-{_slug(cost)}" if len(report.frames) > 1 else "method-costs",
            "results",
            f"{metric.words[0].upper()}{metric.words[1:]} by method",
            "Geometric mean over instances, seeds collapsed first, with its "
            f"{level_text(confidence)} bootstrap interval.",
            plots.method_costs(
                costs_by_method(part, metric), unit=metric.unit or metric.words, confidence=confidence
            ),
        )
    several = frame["setting"].nunique() > 1
    for setting in frame["setting"].unique():
        part = frame[frame["setting"] == setting]
        yield from _setting(report, part, str(setting), several=several)


def _setting(report: Report, part: pd.DataFrame, setting: str, *, several: bool) -> Iterator[ReportFigure]:
    """Yield the figures of one setting; methods of different settings solved different instances."""
    suffix, told = (f"-{_slug(setting)}", f", {setting}") if several else ("", "")
    leads = {(c.method, c.metric): c for c in report.leading if c.setting == setting}.values()
    methods, metrics = {c.method for c in leads}, {c.metric for c in leads}
    for lead in leads:
        metric = METRICS[lead.metric]
        about = [setting]
        about += [known_as(lead.method)] if len(methods) > 1 else []
        about += [metric.words] if len(metrics) > 1 else []
        if not lead.instances:
            continue
        ours, theirs = paired_costs(branched(part), lead.method, lead.baseline, metric)
        names = part.drop_duplicates("digest").set_index("digest")["instance"]
        yield ReportFigure(
            "-".join(["instances", *map(_slug, about)]),
            "results",
            f"Instance by instance, {', '.join(about)}",
            "The greatest saving stands on top; a long grey line is an instance the rule lost.",
            plots.instance_costs(
                {str(names[d]): v for d, v in ours.items()},
                {str(names[d]): v for d, v in theirs.items()},
                rule_label=known_as(lead.method),
                baseline_label=known_as(lead.baseline),
                unit=metric.unit or metric.words,
            ),
        )
    if part["method"].nunique() > 1:
        yield ReportFigure(
            f"profile{suffix}",
            "results",
            f"Performance profile{told}",
            "Left end: how often a method was the fastest. Height: how many solves it finished within that factor.",
            plots.performance_profile(_profile(part)),
        )
    known = part.dropna(subset=["branching_s"])
    if len(known):
        means = known.groupby("method", sort=False)[["branching_s", "cpu_s"]].mean()
        yield ReportFigure(
            f"inference{suffix}",
            "results",
            f"Time spent in deciding{told}",
            "Seconds inside branching out of all CPU seconds. A fast decision may need more nodes and still win.",
            plots.inference_share(
                {
                    known_as(str(name)): (float(row["branching_s"]), float(row["cpu_s"]))
                    for name, row in means.iterrows()
                }
            ),
        )


def _rules(report: Report) -> Iterator[ReportFigure]:
    measured = {}
    for evaluation in report.evaluations:
        for label, method in evaluation.methods.items():
            if isinstance(method, RuleMethod):
                try:
                    measured[label] = complexity(method.source)
                except RuleError:
                    continue  # what cannot be measured has no place among those that can
    if measured:
        yield ReportFigure(
            "complexity",
            "search",
            "Complexity",
            "Five measures of the rules' source; each axis ends at the greatest value among them.",
            plots.complexity_radar(measured),
        )


def _searches(report: Report) -> Iterator[ReportFigure]:
    costs = [search.cost for search in report.searches if search.cost is not None]
    if costs:
        yield ReportFigure(
            "design-time",
            "search",
            "Rule-design time",
            "Seconds of work, added up as if done one after the other; recording the decisions counts for each "
            "search that reads them.",
            plots.design_time(costs),
        )
    if any(cost.curve for cost in costs):
        yield ReportFigure(
            "anytime",
            "search",
            "Quality against effort",
            "Each step is a rule better than all before; a search that never solves with a rule has no curve.",
            plots.anytime_curves(costs),
        )
    for number, search in enumerate(report.searches):
        yield from _search(search, f"-{number + 1}" if len(report.searches) > 1 else "")


def _search(search: SearchRecord, suffix: str) -> Iterator[ReportFigure]:
    both = [c for c in search.samples if c.f_lf is not None and c.f_hf is not None]
    if len(both) > 1:
        drop = plots.fidelity_drop(both)
        lost = "" if drop is None else f" {_loss(drop)}"
        yield ReportFigure(
            f"fidelities{suffix}",
            "search",
            f"Low against high fidelity, {search.name}",
            f"Rules that were evaluated in the solver, by both fidelities.{lost}",
            plots.fidelity_scatter(both),
        )
    if any(sample.id == search.best and sample.parents for sample in search.samples):
        yield ReportFigure(
            f"lineage{suffix}",
            "search",
            f"Where the rule came from, {search.name}",
            "Its ancestors, oldest on top.",
            plots.lineage(search.samples, search.best),
        )


def _loss(drop: float) -> str:
    if drop < 0.005:
        return "The best rule by F_LF is also the best by F_HF, or as good."
    return f"A search on F_LF alone would have ended {drop:.0%} above the best cost.".replace("%", " %")


def _profile(frame: pd.DataFrame) -> dict[str, list[float | None]]:
    timed = frame.assign(cost=frame["cpu_s"].clip(lower=1e-6).where(frame["solved"]))
    table = timed.set_index(["setting", "digest", "seed", "method"])["cost"].unstack("method")
    methods = [method for method in frame["method"].unique() if method in table.columns]
    return {
        known_as(method): [None if pd.isna(value) else float(value) for value in table[method]]
        for method in methods
    }


def _slug(text: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in text.lower())


def render_page(report: Report, figures: tuple[ReportFigure, ...] | None = None) -> str:
    """Return the page as HTML; it loads nothing from anywhere.

    Parameters
    ----------
    figures : tuple of ReportFigure, optional
        Figures already drawn; they are drawn anew if not given.
    """
    drawn = report_figures(report) if figures is None else figures
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            lead=report.lead,
            tables=report.tables,
            caption=CAPTION,
            totals=_totals(report),
            undecided=not_significant(report.comparisons),
            figures=[_figure(one) for one in drawn],
            markdown=paper_markdown(report.tables) + "\n" + comparison_markdown(report.comparisons),
            latex=paper_latex(report.tables),
        )
    )


def _figure(one: ReportFigure) -> dict[str, Any]:
    svg = inline_svg(one.figure, one.name, f"{one.title}. {one.caption}")
    return {
        "section": one.section,
        "title": one.title,
        "caption": one.caption,
        "wide": one.figure.get_figwidth() > 7.5,
        "svg": Markup(svg),
    }


def _totals(report: Report) -> list[dict[str, Any]]:
    return [
        {"setting": setting, "method": known_as(str(method))} | {str(k): v for k, v in entry.items()}
        for table in (method_table(part, metric) for metric, part in report.frames.items())
        for (setting, method), entry in zip(table.index, table.to_dict("records"), strict=True)
    ]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bife_core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "known_as": known_as,
        "statement": statement,
        "p_text": p_text,
        "p_number": p_number,
        "level": level_text,
        "noun": _noun,
        "words": _words,
        "significant": _significant,
        "share": _share,
    }
    return environment


def _words(metric: str) -> str:
    return METRICS[metric].words


def _noun(groups: Iterable[Mapping[str, Method]]) -> str:
    """Return the heading over what has a text of its own: a rule, rules, or methods of several kinds."""
    kinds = [method.kind for methods in groups for method in methods.values() if method.text]
    return "The rule" if kinds == ["rule"] else "The rules" if set(kinds) <= {"rule"} else "The methods"


def _significant(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits, never in powers of ten; a dash for what is unknown."""
    if value is None or value != value:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def _share(value: float) -> str:
    return "–" if value != value else f"{value:.1%}"
