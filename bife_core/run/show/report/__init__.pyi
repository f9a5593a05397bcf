from .data import Report as Report, SearchRecord as SearchRecord, Story as Story
from .page import ReportFigure as ReportFigure, render_page as render_page, report_figures as report_figures
from .tables import report_latex as report_latex, report_markdown as report_markdown
