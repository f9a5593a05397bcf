"""An evaluation as a page a referee can read, and as tables in the layout of the paper."""

from bife_core.report.data import Report, SearchRecord, Story
from bife_core.report.page import render_page, report_figures
from bife_core.report.tables import comparison_markdown, paper_latex, paper_markdown, paper_tables

__all__ = [
    "Report",
    "SearchRecord",
    "Story",
    "comparison_markdown",
    "paper_latex",
    "paper_markdown",
    "paper_tables",
    "render_page",
    "report_figures",
]
