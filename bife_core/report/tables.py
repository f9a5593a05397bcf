"""One table for page, Markdown and LaTeX: what each method did, and how it compares with the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bife_core.evaluation.comparing import Comparison, Finding, known_as, p_text
from bife_core.evaluation.metrics import METRICS, method_table
from bife_core.report.data import Report
from bife_core.wording import as_markdown, counted

CAPTION: Final = (
    "Geometric mean (geometric standard deviation) over all solves. Ratio: geometric mean over groups of instances of "
    "cost / baseline's cost, below 1 is better, with its paired bootstrap interval; an instance is a group of its own "
    "unless the number of groups is given. p: exact two-sided Wilcoxon signed-rank test on groups, Holm-adjusted over "
    "all rows; bold where interval and test agree."
)

_COMPARED: Final = ("Ratio", "Interval", "p, adjusted", "Win/tie/loss", "Nodes, ratio", "Time a node, ratio")


@dataclass(frozen=True)
class Row:
    """One method of an evaluation: its cells as text, and what the comparison with the baseline found."""

    cells: tuple[str, ...]
    finding: Finding | None


def report_table(report: Report, *, every: bool = False) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Return heads and rows of the table of a report; with all metrics, and without comparisons, if `every`."""
    compared_by = (evaluation.protocol.metric for evaluation in report.evaluations)
    shown = list(METRICS) if every else list(dict.fromkeys(("nodes", "time", *compared_by)))
    heads = ["Instances", "Method", "Solved", *(METRICS[name].label for name in shown)]
    heads += ["Wins", "In branching"] if every else _COMPARED
    rows = []
    for evaluation, comparisons in zip(report.evaluations, report.comparisons, strict=True):
        by_method, lead = {one.method: one for one in comparisons}, comparisons[0]
        setting = evaluation.setting
        if lead.groups != lead.instances:
            setting += f", {counted(lead.instances, 'instance', lead.groups)}"
        table = method_table(evaluation.frame, evaluation.protocol.metric)
        for method, did in zip(map(str, table.index), table.to_dict("records"), strict=True):
            missing = f", {did['missing']} missing" if did["missing"] else ""
            cells = [setting, known_as(method), f"{did['solved']} of {did['solves']}{missing}"]
            cells += [mean_text(did[name], did[f"{name}_spread"]) for name in shown]
            one = by_method.get(method)
            if every:
                cells += [str(did["wins"]), f"{did['inference_share']:.1%}"]
            else:
                cells += _compared(one) if one is not None else [""] * len(_COMPARED)
            rows.append(Row(tuple(cells), None if every or one is None else one.finding))
    return tuple(heads), tuple(rows)


def design_table(report: Report) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Return heads and rows of the table of what the design of methods took; no row where nothing is known of it."""
    known: dict[tuple[str, str], Mapping[str, int | float | str]] = {
        (evaluation.setting, known_as(label)): method.design
        for evaluation in report.evaluations
        for label, method in evaluation.methods.items()
        if method.design
    }
    known |= {
        (search.name, search.best): {"design_s": round(cost.design_s), "solver_s": round(cost.solver_s)}
        for search in report.searches
        if (cost := search.cost)
    }
    names = list(dict.fromkeys(name for facts in known.values() for name in facts))
    rows = (Row((*of, *(str(facts.get(name, "")) for name in names)), None) for of, facts in known.items())
    return ("Instances", "Method", *(name.replace("_", " ") for name in names)), tuple(rows)


def _compared(one: Comparison) -> list[str]:
    interval = "none" if one.ci_low is None or one.ci_high is None else f"{one.ci_low:.3f}–{one.ci_high:.3f}"
    return [
        f"{one.ratio:.3f}",
        interval,
        p_text(one.p_adjusted).removeprefix("p ").removeprefix("= "),
        f"{one.wins}/{one.ties}/{one.losses}",
        f"{one.node_ratio:.2f}",
        f"{one.per_node_ratio:.3f}",
    ]


def mean_text(mean: float, spread: float) -> str:
    """Return a mean with its spread: two decimals, fewer where it is large, more where it is tiny.

    Examples
    --------
    >>> mean_text(0.01234, 1.5), mean_text(12.345, 1.5), mean_text(12345.6, 1.5), mean_text(float("nan"), 1.0)
    ('0.012 (1.50)', '12.35 (1.50)', '12346 (1.50)', '-')
    """
    if mean != mean:
        return "-"
    digits = ".2g" if mean < 0.1 else ".2f" if mean < 1000 else ".1f" if mean < 10_000 else ".0f"
    return f"{mean:{digits}} ({spread:.2f})"


def report_markdown(report: Report) -> str:
    """Return the table of a report in Markdown."""
    heads, rows = report_table(report)
    ratio = heads.index("Ratio")
    lines = [f"| {' | '.join(heads)} |", f"|---|---|{'---:|' * (len(heads) - 2)}"]
    lines += [f"| {' | '.join(_marked(row, ratio, '**{}**', as_markdown))} |" for row in rows]
    return "\n".join([*lines, "", CAPTION, ""])


def report_latex(report: Report) -> str:
    """Return the table of a report in LaTeX, as a float that needs booktabs."""
    heads, rows = report_table(report)
    ratio = heads.index("Ratio")
    lines = [" & ".join(_marked(row, ratio, r"\textbf{{{}}}", _tex)) + r" \\" for row in rows]
    body = "\n".join(lines)
    return rf"""\begin{{table*}}[t]
\caption{{{_tex(CAPTION)}}}
\label{{tab:results}}
\centering
\small
\begin{{tabular}}{{ll{"r" * (len(heads) - 2)}}}
\toprule
{" & ".join(map(_tex, heads))} \\ \midrule
{body}
\bottomrule
\end{{tabular}}
\end{{table*}}
"""


def _marked(row: Row, ratio: int, bold: str, escape: Callable[[str], str]) -> list[str]:
    cells = [escape(cell) for cell in row.cells]
    if row.finding in ("better", "worse"):
        cells[ratio] = bold.format(cells[ratio])
    return cells


_IN_TEX: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


def _tex(text: str) -> str:
    return " ".join(text.split()).translate(_IN_TEX)
