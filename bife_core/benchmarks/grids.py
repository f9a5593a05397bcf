"""Two power grids, and how dangerous each of their lines was on each day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

DATA: Final = Path(__file__).parent / "data"
GRIDS: Final = {
    "wecc240": ("buses", "generators", "branches", "risk", "load"),
    "rts_gmlc": ("buses", "generators", "branches", "risk"),
}
"""The tables of each grid; `DATA.md` beside them says where they come from."""

_BASE_MW: Final = 100.0
_Vector = NDArray[np.float64]
_Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid per unit (base 100 MVA), its angles in radians.

    Attributes
    ----------
    reference : int
        Position of the bus whose angle is 0.
    load : (buses,) float64
        Demand, not negative.
    generator_bus, capacity : (generators,)
        Where generators stand, as positions of buses, and what they give at most.
    tail, head : (lines,) int64
        Positions of the buses a line joins; its flow counts from tail to head.
    susceptance, rate : (lines,) float64
        Flow for an angle of 1, which may be negative, and the greatest flow.
    least_angle, greatest_angle : (lines,) float64
        Limits of the difference of angles, 60 degrees at most.
    miles : (lines,) float64
        Length; 0 of a transformer.
    risk : (days, lines) float64
        How likely a fire is that the line lights.
    load_factors : mapping of str to (days,) float64
        Share of the load that is asked for, by hour; empty where there is none on record.
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
    risk: NDArray[np.float64]
    load_factors: dict[str, _Vector]


def tables(name: str) -> dict[str, Path]:
    """Return the files of a grid by what they hold."""
    return {table: DATA / f"{name}_{table}.csv" for table in GRIDS[name]}


@lru_cache(maxsize=2)
def grid(name: str) -> Grid:
    """Return one of `GRIDS`."""
    read = {
        table: np.genfromtxt(path, delimiter=",", names=True)
        for table, path in tables(name).items()
        if table != "risk"
    }
    buses, branches = read["buses"], read["branches"]
    position = {bus: place for place, bus in enumerate(buses["bus"].tolist())}

    def places(column: _Vector) -> _Places:
        return np.array([position[bus] for bus in column.tolist()], dtype=np.int64)

    factors = {hour: read["load"][hour] for hour in read["load"].dtype.names or ()} if "load" in read else {}
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
        risk=np.loadtxt(tables(name)["risk"], delimiter=",", skiprows=1),
        load_factors=factors,
    )
