"""The page itself: one file of HTML with everything in it, for any screen, in light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bife_core.evaluation.conclusion import known_as, not_significant, p_number, p_text, statement
from bife_core.evaluation.metrics import METRICS, method_table
from bife_core.methods.base import Method
from bife_core.plots import inline_svg
from bife_core.report.data import Report
from bife_core.report.figures import ReportFigure, report_figures
from bife_core.report.tables import CAPTION, comparison_markdown, paper_latex, paper_markdown
from bife_core.wording import level_text


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
