"""Condense the two grids of `transmission_switching` into the plain tables the family reads.

    python -m bench.condense_grids FOLDER

FOLDER holds what `bife_core/benchmarks/data/DATA.md` names as sources: two MATPOWER cases, WECC-240's lengths and risks
by branch, the system's load, and RTS-GMLC's lengths and risks. One JSON object a line: {wrote, rows}.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import parser_of, tell
from bife_core.benchmarks.grids import DATA

RTS_LEAST_AVERAGE = 30.0
"""A line of RTS-GMLC is at risk on a day if its fire potential is more than this a mile, on average."""
METRES_A_MILE = 1609.344


def table(case: str, name: str) -> list[list[float]]:
    """Return a matrix of a MATPOWER case."""
    found = re.search(rf"mpc\.{name} = \[\n(.*?)\n\];", case, re.DOTALL)
    if found is None:
        raise SystemExit(f"The case has no table mpc.{name}.")
    lines = (line.partition("%")[0].strip(" \t;") for line in found.group(1).splitlines())
    return [[float(entry) for entry in line.split()] for line in lines if line]


def write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table of the family."""
    lines = [",".join(head)]
    lines += [",".join(f"{x:g}" if isinstance(x, float) else str(x) for x in row) for row in rows]
    (DATA / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    tell({"wrote": name, "rows": len(lines) - 1})


def write_grid(grid: str, case: str, miles: Sequence[str], risks: Iterable[Sequence[str]]) -> None:
    """Write buses, generators, branches and risks of a grid; what is out of service is left out, but for branches."""
    buses, generators, branches = (table(case, name) for name in ("bus", "gen", "branch"))
    if any(row[10] != 1 for row in branches):
        raise SystemExit(f"{grid}: a branch is out of service, and risks are told by their position.")
    write(
        f"{grid}_buses.csv",
        ["bus", "reference", "load_mw"],
        ([int(row[0]), int(row[1] == 3), repr(row[2])] for row in buses),
    )
    write(
        f"{grid}_generators.csv",
        ["bus", "max_mw"],
        ([int(row[0]), repr(row[8])] for row in generators if row[7] == 1),
    )
    write(
        f"{grid}_branches.csv",
        ["from", "to", "r", "x", "rate_mw", "min_degrees", "max_degrees", "miles"],
        (
            [int(row[0]), int(row[1]), *(repr(row[k]) for k in (2, 3, 5, 11, 12)), length]
            for row, length in zip(branches, miles, strict=True)
        ),
    )
    write(f"{grid}_risk.csv", [f"line_{line}" for line in range(1, len(branches) + 1)], risks)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder

    def lines(name: str) -> list[str]:
        return [line for line in (folder / name).read_text().splitlines() if not line.startswith("#")]

    wecc = (folder / "pglib_opf_case240_pserc.m").read_text()
    risks = (line.split(",") for line in lines("wecc240_risk_june2020.csv"))
    write_grid("wecc240", wecc, lines("wecc240_length_miles.csv"), risks)
    load = json.loads((folder / "caiso_june2019.json").read_text())
    hours = zip(load["hour1"], load["peak"], strict=True)
    write("wecc240_load.csv", ["hour_1", "peak"], ([repr(first), repr(peak)] for first, peak in hours))

    rts = (folder / "case_RTS_GMLC.m").read_text()
    with (folder / "rts_risk_2021.csv").open(newline="", encoding="utf-8-sig") as file:
        lines_at_risk = {row["UID"]: row for row in csv.DictReader(file)}
    with (folder / "rts_branch.csv").open(newline="", encoding="utf-8-sig") as file:
        names = [row["UID"] for row in csv.DictReader(file)]
    days = [key for key in next(iter(lines_at_risk.values())) if key.startswith("WFPI")]
    miles = [lines_at_risk[name]["Length"] if name in lines_at_risk else "0" for name in names]

    def risk(name: str, day: str) -> float:
        row = lines_at_risk.get(name)
        if row is None or not row[day] or float(row[day]) <= RTS_LEAST_AVERAGE * float(row["Length"]):
            return 0.0
        return float(row[day]) * METRES_A_MILE / 1e6

    write_grid("rts_gmlc", rts, miles, ([f"{risk(name, day):g}" for name in names] for day in days))
    notice = rts[rts.index("%   DATA USE") : rts.index("%   MATPOWER\n")]
    text = "\n".join(line.lstrip("%").strip() for line in notice.splitlines())
    (DATA / "NREL_NOTICE.txt").write_text(text.strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
