"""The page of a report, one self-contained file of HTML, and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bife_core.base.stats import CONFIDENCE, confidence_of
from bife_core.base.wording import interval_text, level_text
from bife_core.measure.evaluation.comparison import branched, headline, known_as, log_costs, p_text
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.run.show import plots
from bife_core.run.show.report.data import Report
from bife_core.run.show.report.tables import CAPTION, report_latex, report_markdown, report_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bife_core.measure.evaluation.comparison import Comparison


@dataclass(frozen=True)
class ReportFigure:
    """A figure on a page: file name without suffix, and section: headline, ablation, results or search."""

    name: str
    section: str
    title: str
    caption: str
    figure: Figure


def report_figures(report: Report) -> tuple[ReportFigure, ...]:
    """Return all figures the data allow, in the order of the page."""
    return tuple(_figures(report))


def _figures(report: Report) -> Iterator[ReportFigure]:
    level = level_text(report.evaluations[0].lead.confidence)
    yield ReportFigure(
        "ratios",
        "headline",
        "Ratios to the baseline",
        f"Geometric mean over groups of instances, each collapsed first, with its {level} bootstrap interval.",
        plots.ratio_figure([pair for pairs in report.comparisons for pair in pairs]),
    )
    for number, evaluation in enumerate(report.evaluations):
        if evaluation.lead.instances:
            yield ReportFigure(
                _numbered("instances", number),
                "results",
                f"Instance by instance, {evaluation.setting}",
                "The greatest saving stands on top; a long grey line is an instance the rule lost.",
                _instance_costs(report.frames[number], evaluation.lead),
            )
    for number, ablation in enumerate(story.ablation for story in report.stories if story.ablation):
        yield ReportFigure(
            _numbered("ablation", number),
            "ablation",
            "Step by step",
            f"Ratio to SCIP default settings by {METRICS[ablation.cost].words}, as groups of settings are added.",
            plots.steps([(step.group, step.ratio) for step in ablation.steps], "ratio so far"),
        )
    tunings = [pair for story in report.stories for pair in story.tunings.items()]
    for number, (name, course) in enumerate(tunings):
        yield ReportFigure(
            _numbered("trials", number),
            "ablation",
            f"Trials of {known_as(name)}",
            "Each has its ratio over the design instances that it was raced on.",
            plots.trials(course),
        )
    for number, search in enumerate(report.searches):
        both = [c for c in search.samples if c.f_lf is not None and c.f_hf is not None]
        if len(both) > 1:
            yield ReportFigure(
                _numbered("fidelities", number),
                "search",
                f"Low against high fidelity, {search.name}",
                "Rules that were evaluated in the solver; a drop is what a search on F_LF alone would have lost.",
                plots.fidelity_scatter(both, search.tau),
            )


def _instance_costs(frame: pd.DataFrame, lead: Comparison) -> Figure:
    metric = METRICS[lead.metric]
    names = frame.drop_duplicates("digest").set_index("digest")["instance"]
    frame = branched(frame, (lead.method, lead.baseline))
    logs = log_costs(frame, lead.method, lead.baseline, lead.metric, by="digest")
    costs = [(str(names[key]), math.exp(ours), math.exp(theirs)) for key, ours, theirs in logs.itertuples()]
    labels = {"rule_label": known_as(lead.method), "baseline_label": known_as(lead.baseline)}
    return plots.instance_costs(costs, unit=metric.unit or metric.words, **labels)


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number + 1}" if number else name


def render_page(report: Report, figures: Sequence[ReportFigure] | None = None) -> str:
    """Return the page as HTML that loads nothing; figures are drawn if they are not given."""
    drawn = report_figures(report) if figures is None else figures
    loader = PackageLoader("bife_core.run.show.report")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters |= {"known_as": known_as, "headline": headline, "level": level_text}
    environment.filters |= {"p_text": p_text, "svg": _svg}
    return environment.get_template("report.html.j2").render(
        report=report,
        leading=[comparisons[0] for comparisons in report.comparisons],
        tables=[report_table(report), report_table(report, every=True)],
        caption=CAPTION,
        interval=interval_text,
        words={name: metric.words for name, metric in METRICS.items()},
        first_use=(1 - confidence_of(1, CONFIDENCE)) / (1 - CONFIDENCE),
        figures=drawn,
        markdown=report_markdown(report),
        latex=report_latex(report),
    )


def _svg(drawn: ReportFigure) -> Markup:
    return Markup(plots.inline_svg(drawn.figure, drawn.name, f"{drawn.title}. {drawn.caption}"))
