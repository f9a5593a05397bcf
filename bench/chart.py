"""Draw README's chart, `docs/images/ratios.svg`, from the first table of the page of results, by `bench.tuning`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

_PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "results.md"
_CHART: Final = _PAGE.parents[1] / "images" / "ratios.svg"
_KINDS: Final = {"settings and rule": "#1b6e53", "settings alone": "#8fb8de", "rule alone": "#d9b26f"}
_NUMBER: Final = r"(\d\.\d+)"


def table() -> dict[str, dict[str, tuple[float, ...]]]:
    rows = dict[str, dict[str, tuple[float, ...]]]()
    ratio = rf"\**{_NUMBER} \({_NUMBER} to {_NUMBER}\)\**"
    row = re.compile(rf"^\| ([^|]+) \| \d+ \| {ratio} \|[^|]*\| {ratio} \|[^|]*\| {ratio} \|", re.MULTILINE)
    for family, *numbers in row.findall(_PAGE.read_text(encoding="utf-8")):
        values = list(map(float, numbers))
        ratios = {kind: tuple(values[at : at + 3]) for kind, at in zip(_KINDS, (0, 3, 6), strict=True)}
        rows.setdefault(family, ratios)  # a later table has other columns
    return rows


def main() -> None:
    rows = table()
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for at, (kind, colour) in enumerate(_KINDS.items()):
        places = [len(rows) - 1 - number + 0.25 * (1 - at) for number in range(len(rows))]
        ratio, low, high = zip(*(row[kind] for row in rows.values()), strict=True)
        errors = [[abs(a - b) for a, b in zip(ratio, end, strict=True)] for end in (low, high)]
        axes.errorbar(ratio, places, xerr=errors, fmt="o", color=colour, capsize=2, label=kind)
    axes.axvline(1.0, color="#444444", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.03, 0.1, 0.3, 1.0], ["3 %", "10 %", "30 %", "100 %"])
    axes.set_yticks(range(len(rows)), reversed(list(rows)))
    axes.set_xlabel("CPU time, as a share of that of SCIP's default settings (95 % intervals)")
    axes.legend(loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(_CHART, metadata={"Date": None})
    print(_CHART)


if __name__ == "__main__":
    main()
