"""Tables in the paper's layout: methods down, benchmarks across, one table a size, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from bife_core.benchmarks.config import known_sizes
from bife_core.evaluation.comparing import Comparison, known_as, p_number
from bife_core.evaluation.metrics import METRICS, method_table
from bife_core.scip.cost import Cost

CAPTION: Final = (
    "Geometric mean (geometric standard deviation) over all solves; bold is the best, * marks methods of which "
    "some solve ended at a limit or is missing."
)


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes
    ----------
    mean, spread : float
        Geometric mean and geometric standard deviation; NaN where unknown.
    best : bool
        Whether no other method has a smaller mean.
    star : bool
        Whether some solve ended at a limit or is missing.
    """

    mean: float
    spread: float
    best: bool = False
    star: bool = False

    def text(self) -> str:
        """Return the number as it is printed, without marks."""
        return "-" if self.mean != self.mean else f"{_printed(self.mean)} ({self.spread:.2f})"


@dataclass(frozen=True)
class PaperTable:
    """One size: methods by name, each with two cells a benchmark.

    Attributes
    ----------
    title : str
        Such as ``Test instances``.
    benchmarks : tuple of str
        Across.
    columns : tuple of str
        What stands under each benchmark, such as ``Nodes`` and ``Time``.
    rows : dict
        Method to its cells: benchmark by benchmark, column by column.
    """

    title: str
    benchmarks: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]


def split_setting(name: str) -> tuple[str, str]:
    """Return benchmark and size of a setting's name.

    Examples
    --------
    >>> split_setting("CA test"), split_setting("my instances")
    (('CA', 'test'), ('my instances', ''))
    """
    benchmark, _, size = name.rpartition(" ")
    return (benchmark, size) if size in known_sizes() else (name, "")


def paper_tables(frame: pd.DataFrame, cost: Cost = "time") -> tuple[PaperTable, ...]:
    """Return one table a size: nodes and time, or primal-dual integral and gap where one of these is compared.

    Parameters
    ----------
    frame : pd.DataFrame
        From `solve_frame`.
    cost : str
        The metric methods are compared by; its best is set in bold.
    """
    pair = ("primal_dual_integral", "gap") if cost in ("primal_dual_integral", "gap") else ("nodes", cost)
    names = tuple(dict.fromkeys(pair))
    table = method_table(frame, cost)
    settings = list(dict.fromkeys(table.index.get_level_values("setting")))
    methods = list(dict.fromkeys(table.index.get_level_values("method")))
    sizes = list(dict.fromkeys(split_setting(setting)[1] for setting in settings))
    tables = []
    for size in sizes:
        chosen = [setting for setting in settings if split_setting(setting)[1] == size]
        rows: dict[str, list[Cell]] = {method: [] for method in methods}
        for setting in chosen:
            entries = table.loc[setting]
            for name in names:
                means = {method: _value(entries, method, name) for method in methods}
                best = best_of(means) if name == cost else set()
                for method in methods:
                    star = name == names[0] and _value(entries, method, "unsolved") > 0
                    spread = _value(entries, method, f"{name}_spread")
                    rows[method].append(Cell(means[method], spread, method in best, star))
        tables.append(
            PaperTable(
                title=f"{size.capitalize()} instances" if size else "Instances",
                benchmarks=tuple(split_setting(setting)[0] for setting in chosen),
                columns=tuple(METRICS[name].label for name in names),
                rows={known_as(method): tuple(cells) for method, cells in rows.items()},
            )
        )
    return tuple(tables)


def best_of(means: Mapping[str, float]) -> set[str]:
    """Return who has the smallest value, all that are equal to it as printed; NaN never wins."""
    known = {name: value for name, value in means.items() if value == value}
    least = min(known.values(), default=0.0)
    return {name for name, value in known.items() if _printed(value) == _printed(least)}


def paper_markdown(tables: Sequence[PaperTable]) -> str:
    """Return tables in Markdown."""
    parts = []
    for table in tables:
        heads = [f"{b} {column}" for b in table.benchmarks for column in table.columns]
        lines = [f"**{table.title}**", "", f"| Method | {' | '.join(heads)} |"]
        lines.append(f"|---|{'---:|' * len(heads)}")
        for method, cells in table.rows.items():
            shown = [f"**{c.text()}**" if c.best else c.text() + ("\\*" if c.star else "") for c in cells]
            lines.append(f"| {method} | {' | '.join(shown)} |")
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, CAPTION]) + "\n"


def paper_latex(tables: Sequence[PaperTable]) -> str:
    """Return tables in LaTeX, as one float that needs booktabs."""
    parts = []
    for table in tables:
        width = len(table.columns)
        parts += [rf"\textbf{{{table.title}}}\par\smallskip"]
        parts += [rf"\begin{{tabular}}{{l{'c' * width * len(table.benchmarks)}}}", r"\toprule"]
        spans = " & ".join(rf"\multicolumn{{{width}}}{{c}}{{{_tex(name)}}}" for name in table.benchmarks)
        parts += [rf"Method & {spans} \\"]
        ends = [(2 + width * k, 1 + width * (k + 1)) for k in range(len(table.benchmarks))]
        parts += [" ".join(rf"\cmidrule(lr){{{first}-{last}}}" for first, last in ends)]
        parts += [" & ".join(["", *map(_tex, table.columns * len(table.benchmarks))]) + r" \\ \midrule"]
        for method, cells in table.rows.items():
            parts += [" & ".join([_tex(method), *map(_tex_cell, cells)]) + r" \\"]
        parts += [r"\bottomrule", r"\end{tabular}", r"\medskip", ""]
    return _float("table*", CAPTION.replace("*", r"$\star$"), "tab:results", parts)


def comparison_markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the comparisons with the baseline as a Markdown table, which names the metric where there are several."""
    metrics = _words_of(comparisons)
    head, dashes = (" Metric |", "---|") if len(metrics) > 1 else ("", "")
    lines = [
        f"| Setting | Method |{head} Ratio | Interval | Adjusted p | Win/tie/loss "
        "| Nodes, ratio | Time a node, ratio |",
        f"|---|---|{dashes}---:|---:|---:|---:|---:|---:|",
    ]
    for c in comparisons:
        interval = "-" if c.ci_low is None or c.ci_high is None else f"{c.ci_low:.3f} to {c.ci_high:.3f}"
        p = p_number(c.p_adjusted)
        significant = c.finding != "undecided"
        metric = f" {METRICS[c.metric].words} |" if len(metrics) > 1 else ""
        lines.append(
            f"| {c.setting} | {known_as(c.method)} |{metric} {c.ratio:.3f} | {interval} "
            f"| {f'**{p}**' if significant else p} | {c.wins}/{c.ties}/{c.losses} "
            f"| {c.node_ratio:.2f} | {c.per_node_ratio:.3f} |"
        )
    return "\n".join(lines) + "\n"


def comparison_latex(comparisons: Sequence[Comparison]) -> str:
    """Return the tests as a LaTeX table in the layout of the paper's Wilcoxon table."""
    metrics = _words_of(comparisons)
    caption = (
        f"Exact two-sided Wilcoxon signed-rank tests on instance-level geometric means of {' and '.join(metrics)}; "
        r"Holm-adjusted over all rows, \textbf{bold} where interval and test agree."
    )
    column, head = ("l", "Metric & ") if len(metrics) > 1 else ("", "")
    parts = [
        rf"\begin{{tabular}}{{ll{column}ccc}}",
        r"\toprule",
        rf"Setting & Method & {head}Ratio & Holm-adjusted $p$ & Win/tie/loss \\ \midrule",
    ]
    for c in comparisons:
        p = r"\textless 0.001" if c.p_adjusted < 0.001 else f"{c.p_adjusted:.4f}"
        shown = p if c.finding == "undecided" else rf"\textbf{{{p}}}"
        counts = f"{c.wins}/{c.ties}/{c.losses}"
        metric = f"{METRICS[c.metric].words} & " if len(metrics) > 1 else ""
        parts.append(
            rf"{_tex(c.setting)} & {_tex(known_as(c.method))} & {metric}{c.ratio:.3f} & {shown} & {counts} \\"
        )
    return _float("table", caption, "tab:tests", [*parts, r"\bottomrule", r"\end{tabular}"])


def _words_of(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the metrics of comparisons, in words."""
    return list(dict.fromkeys(METRICS[c.metric].words for c in comparisons))


def _float(kind: str, caption: str, label: str, body: Sequence[str]) -> str:
    head = [
        rf"\begin{{{kind}}}[t]",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\centering",
        r"\small",
    ]
    return "\n".join([*head, *body, rf"\end{{{kind}}}", ""])


def _value(entries: pd.DataFrame, method: str, column: str) -> float:
    if method not in entries.index or column not in entries.columns:
        return float("nan")
    return float(entries[column][method])


def _printed(value: float) -> str:
    """Return a number as the paper prints it: two decimals, fewer where it is large, more where it is tiny."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 1000 else f"{value:.1f}" if value < 10_000 else f"{value:.0f}"


def _tex_cell(cell: Cell) -> str:
    if cell.mean != cell.mean:
        return "--"
    mean = rf"\mathbf{{{_printed(cell.mean)}}}" if cell.best else _printed(cell.mean)
    star = r"^\star" if cell.star else ""
    return rf"${mean}{star} ({cell.spread:.2f})$"


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
