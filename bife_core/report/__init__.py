"""An evaluation, or several, as a page a referee can read, and as tables in Markdown and LaTeX."""

from bife_core.report.data import Report, SearchRecord, Story
from bife_core.report.page import ReportFigure, render_page, report_figures
from bife_core.report.tables import report_latex, report_markdown

__all__ = [
    "Report",
    "ReportFigure",
    "SearchRecord",
    "Story",
    "render_page",
    "report_figures",
    "report_latex",
    "report_markdown",
]
