"""An evaluation, or several, as a page a referee can read, and as tables in Markdown and LaTeX."""

from bife_core.show.report.data import Report as Report, SearchRecord as SearchRecord, Story as Story
from bife_core.show.report.page import (
    ReportFigure as ReportFigure,
    render_page as render_page,
    report_figures as report_figures,
)
from bife_core.show.report.tables import report_latex as report_latex, report_markdown as report_markdown
