"""Unit commitment (UC) of RTS-GMLC, from the days of pglib-uc: which power plants run in which hours.

The tight formulation of Knueven, Ostrowski and Watson, "On mixed-integer programming formulations for the unit
commitment problem" (2020), as pglib-uc states it. Nearly all of its work is done at the root.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bife_core.instances.base import DATA, QUICK, Family, Place, Split
from bife_core.instances.generated import in_turn, instance_stream
from bife_core.instances.milp import Milp

UNITS: Final = "rts_gmlc_units.csv"
HOURS: Final = "rts_gmlc_hours.csv"
AREAS: Final = "123"
POINTS: Final = 4
"""Points of each unit's piecewise linear cost."""
STARTS: Final = 3
"""Start-up categories a unit has at most, from hot to cold."""

_DAYS: Final[Mapping[Split, tuple[int, ...]]] = {
    "collection": (0, 4, 6, 10),
    "design": (0, 4, 6, 10),
    "validation": (2, 8),
    "test": (1, 3, 5, 7, 9, 11),
}
"""Which of the twelve days, one a month, each split has."""

_Columns = NDArray[np.int64]


@dataclass(frozen=True)
class _Unit:
    """A power plant: the numbers of its row in the table by their names, and its points and start-up categories."""

    name: str
    values: Mapping[str, float]
    points: tuple[tuple[float, float], ...]
    starts: tuple[tuple[int, float], ...]


def _rows(table: str) -> list[dict[str, str]]:
    with (DATA / table).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


@lru_cache(maxsize=1)
def _units() -> tuple[_Unit, ...]:
    units = []
    for row in _rows(UNITS):
        values = {key: float(value) for key, value in row.items() if key != "unit" and value}
        points = tuple((values[f"point_mw_{k}"], values[f"point_cost_{k}"]) for k in range(POINTS))
        categories = [k for k in range(STARTS) if f"start_lag_{k}" in values]
        starts = tuple((int(values[f"start_lag_{k}"]), values[f"start_cost_{k}"]) for k in categories)
        units.append(_Unit(row["unit"], values, points, starts))
    return tuple(units)


@lru_cache(maxsize=1)
def _days() -> Mapping[str, list[dict[str, float]]]:
    days: dict[str, list[dict[str, float]]] = {}
    for row in _rows(HOURS):
        days.setdefault(row.pop("day"), []).append({key: float(value) for key, value in row.items()})
    return days


def _date(place: Place) -> str:
    days = _DAYS[place.split]
    return list(_days())[days[in_turn(place, len(days))]]


def unit_commitment(place: Place, *, hours: int, areas: str | None = None, first_hour: int = 0) -> Milp:
    """Make an instance of a day, and draw one of the three areas unless `areas` are given, and demand.

    The days of a split take turns. An area by itself has a third of demand and reserve. Minimise the cost of running
    and starting. Columns by unit and hour: ``u`` (runs), ``v`` (is started), ``w`` (is stopped), ``p`` (megawatts above
    its least), ``r`` (reserve), ``l`` (place between cost points), ``d`` (start-up category); and ``q`` (renewables).
    """
    rng = instance_stream(place)
    date = _date(place)
    chosen = areas or AREAS[int(rng.randint(len(AREAS)))]
    rows = _days()[date][first_hour : first_hour + hours]
    demand = np.array([row["demand"] for row in rows]) * rng.uniform(0.95, 1.05)
    share = len(chosen) / len(AREAS)
    growing = Milp(f"uc-{date}-area{chosen}-{hours}h")
    units = [unit for unit in _units() if unit.name[0] in chosen]
    made = [_add_unit(growing, unit, hours) for unit in units]
    for t, row in enumerate(rows):
        least, most = (sum(row[f"{bound}_{area}"] for area in chosen) for bound in ("least", "most"))
        q = growing.columns([f"q_{t}"], least, most)
        u, p, r = (np.array([columns[kind][t] for columns in made]) for kind in ("u", "p", "r"))
        power = [unit.values["least_mw"] for unit in units]
        load = float(share * demand[t])
        growing.row(f"demand_{t}", [*p, *u, *q], [*np.ones(len(units)), *power, 1.0], low=load, high=load)
        growing.row(f"reserve_{t}", r, low=share * row["reserve"])
    return growing


def _add_unit(growing: Milp, unit: _Unit, hours: int) -> dict[str, _Columns]:
    """Add columns and rows of one unit; return the columns other units share rows with."""
    values, name = unit.values, unit.name
    at = range(hours)

    def names(kind: str) -> list[str]:
        return [f"{kind}_{name}_{t}" for t in at]

    idle_cost = unit.points[0][1]
    u = growing.columns(names("u"), values["must_run"], 1, cost=idle_cost, integer=True)
    v = growing.columns(names("v"), 0, 1, integer=True)
    w = growing.columns(names("w"), 0, 1, integer=True)
    p = growing.columns(names("p"), 0, np.inf)
    r = growing.columns(names("r"), 0, np.inf)
    costs = enumerate(cost - idle_cost for _, cost in unit.points)
    steps = [growing.columns(names(f"l{k}"), 0, 1, cost=cost) for k, cost in costs]
    _keep_on_or_off(growing, unit, u, v, w)
    _keep_to_ramps(growing, unit, u, v, w, p, r)
    _choose_starts(growing, unit, v, w)
    above = [unit.points[0][0] - mw for mw, _ in unit.points]
    for t in at:
        step = [column[t] for column in steps]
        growing.row(f"power_{name}_{t}", [p[t], *step], [1.0, *above], low=0, high=0)
        growing.row(f"step_{name}_{t}", [u[t], *step], [1.0, *-np.ones(len(step))], low=0, high=0)
    return {"u": u, "p": p, "r": r}


def _keep_on_or_off(growing: Milp, unit: _Unit, u: _Columns, v: _Columns, w: _Columns) -> None:
    """Add what ties running to starts and stops, and how long a unit stays on or off at least."""
    values, name, hours = unit.values, unit.name, len(u)
    on = values["on"]
    up, down = (min(int(values[key]), hours) for key in ("hours_up", "hours_down"))
    still = int(values["hours_up"] - values["been_up"] if on else values["hours_down"] - values["been_down"])
    if (left := min(still, hours)) > 0:
        total = left if on else 0
        growing.row(f"still_{name}", u[:left], low=total, high=total)
    growing.row(f"logic_{name}_0", [u[0], v[0], w[0]], [1, -1, 1], low=on, high=on)
    for t in range(hours):
        if t:
            growing.row(f"logic_{name}_{t}", [u[t], u[t - 1], v[t], w[t]], [1, -1, -1, 1], low=0, high=0)
        if t + 1 >= up:
            growing.row(f"up_{name}_{t}", [*v[t + 1 - up : t + 1], u[t]], [*np.ones(up), -1], high=0)
        if t + 1 >= down:
            growing.row(f"down_{name}_{t}", [*w[t + 1 - down : t + 1], u[t]], high=1)


def _keep_to_ramps(
    growing: Milp, unit: _Unit, u: _Columns, v: _Columns, w: _Columns, p: _Columns, r: _Columns
) -> None:
    """Add how much a unit can give, and how fast that changes."""
    values, name, hours = unit.values, unit.name, len(u)
    span = values["most_mw"] - values["least_mw"]
    starting = max(values["most_mw"] - values["ramp_start"], 0.0)
    stopping = max(values["most_mw"] - values["ramp_stop"], 0.0)
    before = values["on"] * (values["mw"] - values["least_mw"])
    growing.row(f"ramp_up_{name}_0", [p[0], r[0]], [1, 1], high=values["ramp_up"] + before)
    growing.row(f"ramp_down_{name}_0", [p[0]], [1], low=before - values["ramp_down"])
    growing.row(f"stop_{name}", [w[0]], [stopping], high=values["on"] * span - before)
    for t in range(hours):
        if t:
            growing.row(f"ramp_up_{name}_{t}", [p[t], r[t], p[t - 1]], [1, 1, -1], high=values["ramp_up"])
            growing.row(f"ramp_down_{name}_{t}", [p[t - 1], p[t]], [1, -1], high=values["ramp_down"])
        growing.row(f"started_{name}_{t}", [p[t], r[t], u[t], v[t]], [1, 1, -span, starting], high=0)
        if t + 1 < hours:
            growing.row(f"stopping_{name}_{t}", [p[t], r[t], u[t], w[t + 1]], [1, 1, -span, stopping], high=0)


def _choose_starts(growing: Milp, unit: _Unit, v: _Columns, w: _Columns) -> None:
    """Add start-up categories: the longer a unit was off, the costlier its start."""
    values, name, hours = unit.values, unit.name, len(v)
    columns: dict[tuple[int, int], int] = {}
    ends = [lag for lag, _ in unit.starts[1:]]
    for k, (_, cost) in enumerate(unit.starts):
        for t in range(hours):
            # A unit that was off before the plan began may already be too cold for a category.
            too_cold = k < len(ends) and not values["on"] and ends[k] - values["been_down"] <= t < ends[k] - 1
            if not too_cold:
                added = growing.columns([f"d{k}_{name}_{t}"], 0, 1, cost=cost, integer=True)
                columns[k, t] = int(added[0])
    for t in range(hours):
        kinds = [columns[k, t] for k in range(len(unit.starts)) if (k, t) in columns]
        growing.row(f"start_{name}_{t}", [v[t], *kinds], [1.0, *-np.ones(len(kinds))], low=0, high=0)
        for k, end in enumerate(ends):
            if t + 1 >= end and (k, t) in columns:
                stops = [w[t - i] for i in range(unit.starts[k][0], end)]
                parts = [1, *-np.ones(len(stops))]
                growing.row(f"warm{k}_{name}_{t}", [columns[k, t], *stops], parts, high=0)


FAMILY = Family(
    name="unit_commitment",
    label="UC",
    generate=unit_commitment,
    source=lambda place: place,
    group=_date,
    sizes={
        "tiny": {"hours": 6, "areas": "1", "first_hour": 6},
        "small": {"hours": 12, "first_hour": 4},
        "test": {"hours": 24},
        "transfer": {"hours": 24, "areas": AREAS},
    },
    data=(DATA / UNITS, DATA / HOURS),
    notes=(
        "unit_commitment has the twelve days of RTS-GMLC in pglib-uc with demand varied by 5 % a day; an area by "
        "itself is of BiFE's making. On most days nearly all the work is done at the root, where a rule saves nothing.",
        "Instances of unit_commitment on the same day are one group and count once: there are "
        f"{len(_DAYS['test'])} groups of test instances, however many are drawn.",
    ),
    settings={
        # Instances solved at the root give no decision, so few are asked for, and not of all instances.
        "quick": {**QUICK, "collection.decisions": 50, "collection.max_instances": 40},
        "paper": {"high.time_limit_s": 300.0},
    },
)
