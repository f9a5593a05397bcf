"""One table for page, Markdown and LaTeX: the costs of each method, and its comparison with the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from bife_core.base.wording import as_markdown, counted
from bife_core.measure.evaluation.comparison import Comparison, Finding, known_as, p_text
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.run.show.report.data import Report

CAPTION: Final = (
    "Geometric mean (geometric standard deviation) over all solves. Ratio: geometric mean over groups of instances of "
    "cost / baseline's cost, below 1 is better, with its paired bootstrap interval; an instance is a group of its own "
    "unless the number of groups is given. p: exact two-sided Wilcoxon signed-rank test on groups, Holm-adjusted over "
    "all rows; bold where interval and test agree."
)

_HEADS: Final = ("Ratio", "Interval", "p, adjusted", "Win/tie/loss", "Nodes, ratio", "Time a node, ratio")


@dataclass(frozen=True)
class Row:
    """One method of an evaluation: its cells as text, and the finding of its comparison with the baseline."""

    cells: tuple[str, ...]
    finding: Finding | None


def report_table(report: Report, *, every: bool = False) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Return heads and rows of a report's table, with all metrics instead of the comparisons if `every`."""
    compared_by = (evaluation.protocol.metric for evaluation in report.evaluations)
    shown = list(METRICS) if every else list(dict.fromkeys(("nodes", "time", *compared_by)))
    heads = ["Instances", "Method", "Solved", *(METRICS[name].label for name in shown)]
    heads += ["Wins", "In branching"] if every else _HEADS
    rows = []
    judged = zip(report.evaluations, report.comparisons, report.methods, strict=True)
    for evaluation, comparisons, table in judged:
        by_method, lead = {comparison.method: comparison for comparison in comparisons}, comparisons[0]
        setting = evaluation.setting
        if lead.groups != lead.instances:
            setting += f", {counted(lead.instances, 'instance', lead.groups)}"
        for method, facts in zip(map(str, table.index), table.to_dict("records"), strict=True):
            missing = f", {facts['missing']} missing" if facts["missing"] else ""
            cells = [setting, known_as(method), f"{facts['solved']} of {facts['solves']}{missing}"]
            cells += [mean_text(facts[name], facts[f"{name}_spread"]) for name in shown]
            comparison = by_method.get(method)
            if every:
                cells += [str(facts["wins"]), f"{facts['inference_share']:.1%}"]
            else:
                cells += _ratio_cells(comparison) if comparison else [""] * len(_HEADS)
            rows.append(Row(tuple(cells), comparison.finding if comparison and not every else None))
    return tuple(heads), tuple(rows)


def _ratio_cells(c: Comparison) -> list[str]:
    return [
        "none" if c.incomparable else f"{c.ratio:.3f}",
        "none" if c.ci_low is None or c.ci_high is None else f"{c.ci_low:.3f}–{c.ci_high:.3f}",
        p_text(c.p_adjusted).removeprefix("p ").removeprefix("= "),
        f"{c.wins}/{c.ties}/{c.losses}",
        f"{c.node_ratio:.2f}",
        f"{c.per_node_ratio:.3f}",
    ]


def mean_text(mean: float, spread: float) -> str:
    """Return a mean with its spread: two decimals, fewer if it is large, more if it is tiny."""
    if mean != mean:
        return "-"
    digits = ".2g" if mean < 0.1 else ".2f" if mean < 1000 else ".1f" if mean < 10_000 else ".0f"
    return f"{mean:{digits}} ({spread:.2f})"


def report_markdown(report: Report) -> str:
    """Return the table of a report in Markdown."""
    heads, rows = report_table(report)
    lines = [f"| {' | '.join(heads)} |", f"|---|---|{'---:|' * (len(heads) - 2)}"]
    for row in rows:
        cells = [as_markdown(cell) for cell in row.cells]
        if row.finding in ("better", "worse"):
            cells[heads.index("Ratio")] = f"**{cells[heads.index('Ratio')]}**"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", CAPTION, ""])


def report_latex(report: Report) -> str:
    """Return the table of a report in LaTeX, as a float that needs booktabs."""
    heads, rows = report_table(report)
    cells = pd.DataFrame([[" ".join(cell.split()) for cell in row.cells] for row in rows], columns=heads)
    bold = ["textbf:--rwrap" if row.finding in ("better", "worse") else "" for row in rows]
    style = cells.style.format(escape="latex").format_index(escape="latex", axis="columns")
    style = style.apply(lambda _: bold, subset=["Ratio"]).hide(axis="index")
    place = {"environment": "table*", "position": "t", "position_float": "centering", "label": "tab:results"}
    form: dict[str, Any] = {"column_format": f"ll{'r' * (len(heads) - 2)}", "hrules": True, **place}
    return str(style.to_latex(caption=CAPTION, **form))
