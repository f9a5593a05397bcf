"""Draw README's chart, `docs/images/ratios.svg`, from the first table of the page of results, by `bench.peers`."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

_PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "results.md"
_CHART: Final = _PAGE.parents[1] / "images" / "ratios.svg"
_KINDS: Final = {
    "BiFE": "#1b6e53",
    "Gurobi": "#b5503c",
    "HiGHS": "#8fb8de",
}
"""Columns that are drawn, with their colours."""
_RATIO: Final = re.compile(r"\**(?:> )?(\d+\.\d+) \((\d+\.\d+) to (\d+\.\d+)\)\**")

Ratio = tuple[float, float, float]


def ratios() -> dict[str, dict[str, Ratio]]:
    """Return ratio and ends of its interval by family and solver, where a cell of the first table has them."""
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("| family |"))
    names = _cells(lines[head])
    kinds = [next((kind for kind in _KINDS if name.startswith(kind)), name) for name in names[1:]]
    rows = dict[str, dict[str, Ratio]]()
    for line in takewhile(lambda line: line.startswith("|"), lines[head + 2 :]):
        family, *cells = _cells(line)
        matches = zip(kinds, map(_RATIO.fullmatch, cells), strict=True)
        rows[family] = {
            name: (float(match[1]), float(match[2]), float(match[3])) for name, match in matches if match
        }
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def main() -> None:
    rows = ratios()
    figure = Figure(figsize=(8, 0.5 * len(rows) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    for at, (kind, colour) in enumerate(_KINDS.items()):
        drawn = [
            (len(rows) - 1 - number + 0.2 * (1 - at), row[kind])
            for number, row in enumerate(rows.values())
            if kind in row
        ]
        places = [place for place, _ in drawn]
        ratio, low, high = zip(*(values for _, values in drawn), strict=True)
        errors = [[abs(a - b) for a, b in zip(ratio, end, strict=True)] for end in (low, high)]
        axes.errorbar(ratio, places, xerr=errors, fmt="o", markersize=4, color=colour, capsize=2, label=kind)
    axes.axvline(1.0, color="#444444", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.03, 0.1, 0.3, 1.0, 3.0], ["3 %", "10 %", "30 %", "100 %", "300 %"])
    axes.set_yticks(range(len(rows)), reversed(list(rows)))
    axes.set_xlabel("CPU time, as a share of that of SCIP's default settings (95 % intervals)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=len(_KINDS), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(_CHART, metadata={"Date": None})
    print(_CHART)


if __name__ == "__main__":
    main()
