"""Transmission switching and undergrounding under wildfire risk (OTS), as Distributional MIPLIB states it.

Which lines does one bury for a budget, and which are switched off on each day, so that little load is shed and no
dangerous line stands under current? Formulation after Pollack et al. (arXiv 2404.11520); the risks and loads are public
ones of neighbouring years.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bife_core.benchmarks.base import QUICK, Family, Place, Split
from bife_core.benchmarks.generated import instance_stream
from bife_core.benchmarks.grids import GRIDS, Grid, grid, tables
from bife_core.benchmarks.milp import Assembly, MilpData

_MATTERS: Final = 1e-4
"""A line with more risk than this on a day may be switched off; less load than this counts as none."""
_MUST_GO: Final = 1.0
"""A line with more risk than this on a day has to be underground or off."""
_DAILY_RISK: Final = 600.0
_MILLIONS_A_MILE: Final = 7.0
_BIG_ANGLE: Final = 2 * np.pi

_SHARES: Final[dict[Split, tuple[float, float]]] = {
    "collection": (0.0, 0.4),
    "design": (0.0, 0.4),
    "validation": (0.4, 2 / 3),
    "test": (2 / 3, 1.0),
}
"""Which part of the days on record each split takes its days from."""


def transmission_switching(
    place: Place,
    *,
    network: str,
    days: int,
    budget: float | tuple[float, float, float],
    hour: str = "peak",
    first_day: int | None = None,
) -> MilpData:
    """Draw an instance: days of a split, loads, and perhaps a budget.

    Parameters
    ----------
    place : Place
        Its split says which part of the days on record may be drawn, its stream which of them and the loads.
    network : {"wecc240", "rts_gmlc"}
        The grid.
    days : int
        Consecutive days that share the lines underground.
    budget : float or (float, float, float)
        Millions of dollars for undergrounding, or the first, last and step of budgets to draw from.
    hour : {"peak", "hour_1"}
        Which load of a day on record is asked for; without a record 0.9 to 1 of the load is drawn.
    first_day : int, optional
        Position of the first day; drawn by default.

    Returns
    -------
    MilpData
        Minimise the load that is shed, per unit. Columns are ``y_l`` (line underground), and for each day ``shed``,
        ``angle``, ``gen``, ``flow`` and ``z_l`` (line energised).
    """
    rng = instance_stream(place.family, place.size, place.split, place.index, place.seed)
    known = grid(network)
    if first_day is None:
        begin, end = (round(share * len(known.risk)) for share in _SHARES[place.split])
        first_day = int(rng.randint(begin, end - days + 1))
    chosen = np.arange(first_day, first_day + days)
    if isinstance(budget, tuple):
        low, high, step = budget
        budget = low + step * int(rng.randint(round((high - low) / step) + 1))
    factors = known.load_factors[hour][chosen] if known.load_factors else rng.uniform(0.9, 1.0, size=days)
    loads = known.load * factors[:, None] * rng.uniform(0.95, 1.05, size=(days, len(known.load)))
    loads[loads < _MATTERS] = 0.0
    return _model(
        f"{network}-day{first_day + 1}-{days}x{budget:g}", known, known.risk[chosen], loads, float(budget)
    )


def _model(
    name: str, known: Grid, risk: NDArray[np.float64], loads: NDArray[np.float64], budget: float
) -> MilpData:
    growing = Assembly()
    buried = np.flatnonzero((risk > _MATTERS).any(axis=0))
    y = np.full(len(known.tail), -1)
    y[buried] = growing.columns([f"y_{line + 1}" for line in buried.tolist()], 0, 1, integer=True)
    cost = _MILLIONS_A_MILE * known.miles[buried]
    growing.row("budget", y[buried][cost > 0], cost[cost > 0], high=budget)
    for day, (risks, load) in enumerate(zip(risk, loads, strict=True), start=1):
        _add_day(growing, known, day, risks, load, y)
    return growing.model(name)


def _add_day(
    growing: Assembly,
    known: Grid,
    day: int,
    risk: NDArray[np.float64],
    load: NDArray[np.float64],
    y: NDArray[np.int64],
) -> None:
    """Add columns and rows of one day; `y` is where each line's column is, or -1."""
    lines, buses = len(known.tail), len(load)

    def names(kind: str, numbers: NDArray[np.int64]) -> list[str]:
        return [f"{kind}_{day}_{number + 1}" for number in numbers.tolist()]

    every = np.arange(buses)
    shed = growing.columns(names("shed", every), 0, load, cost=1.0)
    reach = np.where(every == known.reference, 0.0, np.pi)
    angle = growing.columns(names("angle", every), -reach, reach)
    made = growing.columns(names("gen", np.arange(len(known.capacity))), 0, known.capacity)
    flow = growing.columns(names("flow", np.arange(lines)), -known.rate, known.rate)
    switchable = np.flatnonzero(risk > _MATTERS)
    z = np.full(lines, -1)
    z[switchable] = growing.columns(names("z", switchable), 0, 1, integer=True)

    buried = np.flatnonzero((y >= 0) & (risk > 0))
    growing.row(
        f"risk_{day}",
        [*y[buried], *z[switchable]],
        [*-risk[buried], *risk[switchable]],
        high=_DAILY_RISK - math.fsum(risk[z < 0]),
    )
    for line in range(lines):
        at = f"{day}_{line + 1}"
        b, rate = float(known.susceptance[line]), float(known.rate[line])
        tail, head = angle[known.tail[line]], angle[known.head[line]]
        least, greatest = float(known.least_angle[line]), float(known.greatest_angle[line])
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
        leaving, entering = flow[known.tail == bus], flow[known.head == bus]
        given = made[known.generator_bus == bus]
        growing.row(
            f"balance_{day}_{bus + 1}",
            [*leaving, *entering, *given, shed[bus]],
            [*np.ones(len(leaving)), *-np.ones(len(entering)), *-np.ones(len(given) + 1)],
            low=-float(load[bus]),
            high=-float(load[bus]),
        )


FAMILY = Family(
    name="transmission_switching",
    label="OTS",
    generate=transmission_switching,
    source=lambda place: place,
    sizes={
        "tiny": {"network": "rts_gmlc", "days": 1, "budget": 1000.0},
        "small": {"network": "rts_gmlc", "days": 3, "budget": 1000.0},
        "test": {"network": "wecc240", "days": 4, "budget": 1000.0},
        "transfer": {"network": "wecc240", "days": 8, "budget": 1000.0},
        "dmiplib": {
            "network": "wecc240",
            "days": 16,
            "budget": (300.0, 500.0, 5.0),
            "hour": "hour_1",
            "first_day": 4,
        },
    },
    data=tuple(path for name in GRIDS for path in tables(name).values()),
    notes=(
        "transmission_switching has Distributional MIPLIB's formulation and its small grid, with public fire risks of "
        "June 2020 and loads of June 2019; the sizes tiny and small are on RTS-GMLC, with risks of 2021.",
    ),
    settings={
        "quick": QUICK,
        "paper": {"high.cost": "gap", "high.time_limit_s": 300.0, "evaluation.metric": "gap"},
    },
)
