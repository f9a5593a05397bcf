"""Transmission switching and undergrounding under wildfire risk (OTS), as Distributional MIPLIB states it.

Which lines does one bury for a budget, and which are switched off on each day, so that little load is shed and no
dangerous line stands under current? Formulation after Pollack et al. (arXiv 2404.11520); the risks and loads are public
ones of neighbouring years.

Minimise the load shed. y(l) buries a line for 7 million dollars a mile, z(d,l) energises it on day d. A line with a
risk above 1 is underground or off (z = y); one above 0.0001 may be switched (y <= z). |flow| <= rate z; flow = b angle
where z = 1 (big-M 2 pi |b|); balance at every bus; the risk of a day is at most 600.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bife_core.instances.base import DATA, QUICK, Family, Place, Split
from bife_core.instances.generated import in_turn, instance_stream
from bife_core.instances.milp import Milp

GRIDS: Final = {
    "wecc240": ("buses", "generators", "branches", "risk", "load"),
    "rts_gmlc": ("buses", "generators", "branches", "risk"),
}

_BASE_MW: Final = 100.0
_Vector = NDArray[np.float64]
_Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid per unit (base 100 MVA), its angles in radians; buses are named by their position.

    `reference` is the bus whose angle is 0. A line's flow counts from `tail` to `head`; `susceptance` is the flow for
    an angle of 1, which may be negative, and `miles` is 0 for a transformer. `risk` is (days, lines), `load_factors`
    (days,) the share of the load at the peak of each day, None where no loads are published.
    """

    reference: int
    load: _Vector
    generator_bus: _Places
    capacity: _Vector
    tail: _Places
    head: _Places
    susceptance: _Vector
    rate: _Vector
    least_angle: _Vector
    greatest_angle: _Vector
    miles: _Vector
    risk: _Vector
    load_factors: _Vector | None


def tables(name: str) -> dict[str, Path]:
    """Return the files of a grid by what they hold."""
    return {table: DATA / f"{name}_{table}.csv" for table in GRIDS[name]}


@lru_cache(maxsize=2)
def grid(name: str) -> Grid:
    """Return one of `GRIDS`."""
    files = tables(name)
    risk = np.loadtxt(files.pop("risk"), delimiter=",", skiprows=1)
    read = {table: np.genfromtxt(path, delimiter=",", names=True) for table, path in files.items()}
    buses, branches = read["buses"], read["branches"]
    position = {bus: place for place, bus in enumerate(buses["bus"].tolist())}

    def places(column: _Vector) -> _Places:
        return np.array([position[bus] for bus in column.tolist()], dtype=np.int64)

    limits = np.radians(60.0)
    return Grid(
        reference=int(np.flatnonzero(buses["reference"])[0]),
        load=np.maximum(buses["load_mw"], 0) / _BASE_MW,
        generator_bus=places(read["generators"]["bus"]),
        capacity=read["generators"]["max_mw"] / _BASE_MW,
        tail=places(branches["from"]),
        head=places(branches["to"]),
        susceptance=branches["x"] / (branches["r"] ** 2 + branches["x"] ** 2),
        rate=branches["rate_mw"] / _BASE_MW,
        least_angle=np.maximum(np.radians(branches["min_degrees"]), -limits),
        greatest_angle=np.minimum(np.radians(branches["max_degrees"]), limits),
        miles=branches["miles"],
        risk=risk,
        load_factors=read["load"]["peak"] if "load" in read else None,
    )


_MATTERS: Final = 1e-4
"""A line with more risk than this on a day may be switched off; less load than this counts as none."""
_MUST_GO: Final = 1.0  # a line with more risk than this on a day has to be underground or off
_DAILY_RISK: Final = 600.0
_MILLIONS_A_MILE: Final = 7.0
_BIG_ANGLE: Final = 2 * np.pi

_ENDS: Final = {"wecc240": (8, 14, 30), "rts_gmlc": (17, 29, 62)}
"""The numbers of days after which those of design, validation and test end; half of all are for validation and test."""


def _windows(split: Split, network: str, days: int) -> tuple[int, int]:
    """Return where a split's days begin, and how many windows of `days` they hold that share none."""
    design, validation, test = _ENDS[network]
    begin, end = {"validation": (design, validation), "test": (validation, test)}.get(split, (0, design))
    # Beside those for judging, WECC-240 has one window of eight days: validation takes it too.
    return (begin, many) if (many := (end - begin) // days) else (0, design // days)


def _first_day(place: Place, network: str, days: int) -> int:
    begin, many = _windows(place.split, network, days)
    return begin + days * in_turn(place, many)


def transmission_switching(place: Place, *, network: str, days: int, budget: float) -> Milp:
    """Make an instance of consecutive days that share the lines underground, and draw its loads.

    The instances of a split take disjoint windows of its days in turn. `budget` is in millions of dollars. Minimise the
    load that is shed, per unit. Columns are ``y`` (line underground), and for each day ``shed``, ``angle``, ``gen``,
    ``flow`` and ``z`` (line energised).
    """
    rng = instance_stream(place)
    system = grid(network)
    first_day = _first_day(place, network, days)
    chosen = np.arange(first_day, first_day + days)
    recorded = system.load_factors
    factors = rng.uniform(0.9, 1.0, size=days) if recorded is None else recorded[chosen]
    loads = system.load * factors[:, None] * rng.uniform(0.95, 1.05, size=(days, len(system.load)))
    loads[loads < _MATTERS] = 0.0
    risk = system.risk[chosen]
    growing = Milp(f"{network}-day{first_day + 1}-{days}x{budget:g}")
    buried = np.flatnonzero((risk > _MATTERS).any(axis=0))
    y = np.full(len(system.tail), -1)
    y[buried] = growing.columns([f"y_{line + 1}" for line in buried.tolist()], 0, 1, integer=True)
    cost = _MILLIONS_A_MILE * system.miles[buried]
    growing.row("budget", y[buried][cost > 0], cost[cost > 0], high=budget)
    for day, (risks, load) in enumerate(zip(risk, loads, strict=True), start=1):
        _add_day(growing, system, day, risks, load, y)
    return growing


def _add_day(growing: Milp, system: Grid, day: int, risk: _Vector, load: _Vector, y: _Places) -> None:
    """Add columns and rows of one day; `y` is where each line's column is, or -1."""
    lines, buses = len(system.tail), len(load)

    def names(kind: str, numbers: _Places) -> list[str]:
        return [f"{kind}_{day}_{number + 1}" for number in numbers.tolist()]

    every = np.arange(buses)
    shed = growing.columns(names("shed", every), 0, load, cost=1.0)
    reach = np.where(every == system.reference, 0.0, np.pi)
    angle = growing.columns(names("angle", every), -reach, reach)
    made = growing.columns(names("gen", np.arange(len(system.capacity))), 0, system.capacity)
    flow = growing.columns(names("flow", np.arange(lines)), -system.rate, system.rate)
    switchable = np.flatnonzero(risk > _MATTERS)
    z = np.full(lines, -1)
    z[switchable] = growing.columns(names("z", switchable), 0, 1, integer=True)

    buried = np.flatnonzero((y >= 0) & (risk > 0))
    members, parts = [*y[buried], *z[switchable]], [*-risk[buried], *risk[switchable]]
    growing.row(f"risk_{day}", members, parts, high=_DAILY_RISK - math.fsum(risk[z < 0]))
    for line in range(lines):
        at = f"{day}_{line + 1}"
        b, rate = float(system.susceptance[line]), float(system.rate[line])
        tail, head = angle[system.tail[line]], angle[system.head[line]]
        least, greatest = float(system.least_angle[line]), float(system.greatest_angle[line])
        if z[line] < 0:
            growing.row(f"law_{at}", [flow[line], tail, head], [1.0, -b, b], low=0.0, high=0.0)
            growing.row(f"angle_{at}", [tail, head], [1.0, -1.0], low=least, high=greatest)
            continue
        exact = risk[line] > _MUST_GO
        growing.row(f"bury_{at}", [y[line], z[line]], [1.0, -1.0], low=0.0 if exact else -np.inf, high=0.0)
        growing.row(f"most_{at}", [flow[line], z[line]], [1.0, -rate], high=0.0)
        growing.row(f"least_{at}", [flow[line], z[line]], [1.0, rate], low=0.0)
        slack = _BIG_ANGLE * abs(b)
        law = [flow[line], tail, head, z[line]]
        growing.row(f"law_above_{at}", law, [1.0, -b, b, slack], high=slack)
        growing.row(f"law_below_{at}", law, [1.0, -b, b, -slack], low=-slack)
        apart = [tail, head, z[line]]
        growing.row(f"angle_above_{at}", apart, [1.0, -1.0, _BIG_ANGLE], high=greatest + _BIG_ANGLE)
        growing.row(f"angle_below_{at}", apart, [1.0, -1.0, -_BIG_ANGLE], low=least - _BIG_ANGLE)
    for bus in range(buses):
        leaving, entering = flow[system.tail == bus], flow[system.head == bus]
        generated = made[system.generator_bus == bus]
        members = [*leaving, *entering, *generated, shed[bus]]
        signs = [*np.ones(len(leaving)), *-np.ones(len(members) - len(leaving))]
        growing.row(f"balance_{day}_{bus + 1}", members, signs, low=-float(load[bus]), high=-float(load[bus]))


_SIZES: Final[dict[str, dict[str, Any]]] = {
    "tiny": {"network": "rts_gmlc", "days": 1, "budget": 1000.0},
    "small": {"network": "rts_gmlc", "days": 3, "budget": 1000.0},
    "test": {"network": "wecc240", "days": 4, "budget": 1000.0},
    "transfer": {"network": "wecc240", "days": 8, "budget": 1000.0},
}


def _group(place: Place) -> str:
    network, days, _ = _SIZES[place.size].values()
    return f"{network} from day {_first_day(place, network, days) + 1}"


_TESTED: Final = ", ".join(
    f"{_windows('test', size['network'], size['days'])[1]} in size {name}" for name, size in _SIZES.items()
)

FAMILY = Family(
    name="transmission_switching",
    label="OTS",
    generate=transmission_switching,
    source=lambda place: place,
    group=_group,
    sizes=_SIZES,
    data=tuple(path for name in GRIDS for path in tables(name).values()),
    notes=(
        "transmission_switching has Distributional MIPLIB's formulation and its small grid, with public fire risks of "
        "June 2020 and loads of June 2019; the sizes tiny and small are on RTS-GMLC, with risks of 2021.",
        "Instances of transmission_switching on the same days are one group and count once. Public data give so many "
        f"groups of test days, however many instances are drawn: {_TESTED}.",
    ),
    settings={"quick": QUICK, "paper": {"high.cost": "gap", "high.time_limit_s": 300.0}},
)
