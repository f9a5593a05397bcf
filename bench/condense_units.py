"""Condense days of pglib-uc into the two plain tables `unit_commitment` reads.

    python -m bench.condense_units FOLDER

FOLDER holds the days of RTS-GMLC as pglib-uc has them, ``2020-01-27.json`` and so on. Units are the same on all days;
what sun, wind and water give is added up by area. One JSON object a line: {wrote, rows}; then for 24 hours of each area
and of the whole what the models have and what they leave out of pglib-uc's statement: {areas, rows, columns, integers,
fixed, out_of_reach, renewables}, where integers are counted with those whose bounds fix them, out of reach are start-up
categories that nobody can be in, and renewables have one column an hour together.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import parser_of, tell
from bife_core.benchmarks.base import Place
from bife_core.benchmarks.grids import DATA
from bife_core.benchmarks.unit_commitment import AREAS, HOURS, POINTS, STARTS, UNITS, unit_commitment

PLAIN = {
    "must_run": "must_run",
    "least_mw": "power_output_minimum",
    "most_mw": "power_output_maximum",
    "ramp_up": "ramp_up_limit",
    "ramp_down": "ramp_down_limit",
    "ramp_start": "ramp_startup_limit",
    "ramp_stop": "ramp_shutdown_limit",
    "hours_up": "time_up_minimum",
    "hours_down": "time_down_minimum",
    "on": "unit_on_t0",
    "mw": "power_output_t0",
    "been_up": "time_up_t0",
    "been_down": "time_down_t0",
}
"""Columns of the table of units, and what pglib-uc calls them."""


def unit_row(name: str, unit: dict[str, Any]) -> list[object]:
    """Return the row of a unit; what it has no further start-up category for is empty."""
    points, starts = unit["piecewise_production"], unit["startup"]
    pairs = [(point["mw"], point["cost"]) for point in points]
    pairs += [(start["lag"], start["cost"]) for start in starts] + [("", "")] * (STARTS - len(starts))
    return [name, *(unit[theirs] for theirs in PLAIN.values()), *(entry for pair in pairs for entry in pair)]


def write(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table of the family."""
    count = 0
    with path.open("w", encoding="ascii", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        for row in rows:
            table.writerow(row)
            count += 1
    tell({"wrote": path.name, "rows": count})


def counts(day: dict[str, Any], areas: str) -> dict[str, object]:
    """Return how large 24 hours are, and what they do without of all that pglib-uc states."""
    hours = 24
    model = unit_commitment(Place("unit_commitment", "test", "test", 0, 0), hours=hours, areas=areas)
    stated = sum(
        hours * len(unit["startup"]) for name, unit in day["thermal_generators"].items() if name[0] in areas
    )
    rows, columns = model.rows.shape
    return {
        "areas": areas,
        "rows": rows,
        "columns": columns,
        "integers": int(model.integer.sum()),
        "fixed": int((model.integer & (model.lower == model.upper)).sum()),
        "out_of_reach": stated - sum(name.startswith("d") for name in model.column_names),
        "renewables": sum(name[0] in areas for name in day["renewable_generators"]),
    }


def main() -> None:
    """Write both tables, and count."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    files = sorted(parser.parse_args().folder.glob("*.json"))
    days = {path.stem: json.loads(path.read_text()) for path in files}
    first = next(iter(days.values()))["thermal_generators"]
    if any(day["thermal_generators"] != first for day in days.values()):
        raise SystemExit("Units differ from day to day.")
    head = ["unit", *PLAIN]
    head += [f"{what}_{k}" for k in range(POINTS) for what in ("point_mw", "point_cost")]
    head += [f"{what}_{k}" for k in range(STARTS) for what in ("start_lag", "start_cost")]
    write(DATA / UNITS, head, [unit_row(name, unit) for name, unit in first.items()])

    def hours() -> Iterable[Sequence[object]]:
        for date, day in days.items():
            for hour, (demand, reserve) in enumerate(zip(day["demand"], day["reserves"], strict=True)):
                given = [
                    round(math.fsum(one[bound][hour] for name, one in renewable if name.startswith(area)), 4)
                    for renewable in [list(day["renewable_generators"].items())]
                    for area in AREAS
                    for bound in ("power_output_minimum", "power_output_maximum")
                ]
                yield [date, hour, demand, reserve, *given]

    sums = [f"{bound}_{area}" for area in AREAS for bound in ("least", "most")]
    write(DATA / HOURS, ["day", "hour", "demand", "reserve", *sums], hours())
    for areas in (*AREAS, AREAS):
        tell(counts(next(iter(days.values())), areas))


if __name__ == "__main__":
    main()
