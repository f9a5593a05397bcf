"""Balanced item placement (BIP): the instances of the ML4CO competition of 2021, rebuilt from their seeds."""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import Final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import coo_array

from bife_core.benchmarks.base import Family, Place, Split
from bife_core.benchmarks.milp import MilpData

_SEED: Final = 42
"""Instance k of the competition is drawn by Python's own generator, seeded with this plus k."""

_TRAIN, _VALID, _TEST = 9_900, 100, 100
_CAPACITY_FACTOR: Final = 2.0


def item_placement(
    k: int,
    *,
    bins: int = 10,
    resources: int = 3,
    small: int = 100,
    big: int = 5,
    big_sizes: tuple[float, float] = (0.9, 1.0),
) -> MilpData:
    """Rebuild instance `k`: place items in bins so that each resource is used evenly.

    Parameters
    ----------
    k : int
        Number of the instance: 0 to 9,899 are the competition's training set, the next 100 its validation set, and the
        100 after these its test set. With other parameters than the default ones it is a seed like any other.
    bins, resources : int
        Bins, and what items take of each.
    small, big : int
        Items that take 0 to 0.1 of each resource, and items that take as much as `big_sizes` say.
    big_sizes : (float, float)
        Least and greatest share.

    Returns
    -------
    MilpData
        Columns are ``place_i_b`` (binary, item by item), the shortfall ``deficit_b_r`` of each bin from an even share,
        and ``max_deficit_r``, all between 0 and 1. Rows, names and the rounding of coefficients to six digits are those
        of the published files: every item in one bin, capacities, deficits, greatest deficits.
    """
    random = Random(_SEED + k)
    sizes = []
    for count, low, high in ((small, 0.0, 0.1), (big, *big_sizes)):
        # Numbers that leave no choice are drawn all the same, for they use up the stream.
        for _ in range(random.randint(count, count)):
            random.randint(1, 1)
            sizes.append([random.uniform(low, high) for _ in range(resources)])
    random.randint(bins, bins)
    demand = np.array(sizes)
    total = demand.sum(axis=0)
    items = len(sizes)

    place = np.arange(items * bins).reshape(items, bins)
    deficit = items * bins + np.arange(bins * resources).reshape(bins, resources)
    greatest = items * bins + bins * resources + np.arange(resources)
    columns = items * bins + bins * resources + resources
    pairs = bins * resources
    supply_row = items + np.arange(pairs).reshape(bins, resources)
    deficit_row = items + pairs + np.arange(pairs).reshape(resources, bins).T
    greatest_row = items + 2 * pairs + np.arange(pairs).reshape(bins, resources)
    every = (items, bins, resources)
    blocks = [  # (rows, columns, coefficients)
        (np.broadcast_to(np.arange(items)[:, None], place.shape), place, np.ones(place.shape)),
        tuple(np.broadcast_to(a, every) for a in (supply_row, place[:, :, None], demand[:, None, :])),
        tuple(
            np.broadcast_to(a, every)
            for a in (deficit_row, place[:, :, None], (bins * demand / total)[:, None, :])
        ),
        (deficit_row, deficit, np.ones((bins, resources))),
        (greatest_row, np.broadcast_to(greatest, (bins, resources)), np.ones((bins, resources))),
        (greatest_row, deficit, np.full((bins, resources), -1.0)),
    ]
    row, column, value = (np.concatenate([block[part].ravel() for block in blocks]) for part in range(3))
    rows = items + 3 * pairs
    lower, upper = np.full(rows, -np.inf), np.full(rows, np.inf)
    lower[:items] = upper[:items] = 1
    upper[supply_row] = _rounded(_CAPACITY_FACTOR * total / bins)
    lower[deficit_row] = 1
    lower[greatest_row] = 0
    of_bins = [f"{b}_{r}" for b in range(bins) for r in range(resources)]
    return MilpData(
        name=f"Knapsack_{k}",
        maximise=False,
        objective=np.concatenate(
            [np.zeros(items * bins), np.ones(pairs), np.full(resources, 10.0 * pairs)],
        ),
        lower=np.zeros(columns),
        upper=np.ones(columns),
        integer=np.arange(columns) < items * bins,
        rows=coo_array((_rounded(value), (row, column)), shape=(rows, columns)).tocsr(),
        row_lower=lower,
        row_upper=upper,
        column_names=[
            *(f"place_{i}_{b}" for i in range(items) for b in range(bins)),
            *(f"deficit_{pair}" for pair in of_bins),
            *(f"max_deficit_{r}" for r in range(resources)),
        ],
        row_names=[
            *(f"copies_ct_{i}" for i in range(items)),
            *(f"supply_ct_{pair}" for pair in of_bins),
            *(f"deficit_ct_{b}_{r}" for r in range(resources) for b in range(bins)),
            *(f"max_deficit_ct_{pair}" for pair in of_bins),
        ],
    )


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to six significant digits, as the published files were written."""
    return np.array([float(f"{value:g}") for value in values.tolist()])


def competition_index(place: Place) -> int:
    """Return the competition's number of an instance.

    Collection and design share its training set in an order the seed fixes; validation and test are the competition's,
    in its order, whatever the seed.
    """
    if place.split == "validation":
        return _TRAIN + place.index
    if place.split == "test":
        return _TRAIN + _VALID + place.index
    return int(_order(place.seed)[2 * place.index + (place.split == "design")])


def _count(_: str, split: Split) -> int:
    return {"validation": _VALID, "test": _TEST}.get(split, _TRAIN // 2)


@lru_cache(maxsize=4)
def _order(seed: int) -> list[int]:
    order: list[int] = RandomState(seed % 2**32).permutation(_TRAIN).tolist()
    return order


FAMILY = Family(
    name="item_placement",
    label="BIP",
    generate=item_placement,
    source=competition_index,
    count=_count,
    sizes={
        "tiny": {"bins": 3, "resources": 2, "small": 14, "big": 2, "big_sizes": (0.5, 0.6)},
        "test": {},
        "transfer": {"bins": 15, "small": 150, "big": 8},
    },
    notes=(
        "item_placement holds the ML4CO competition's own instances, rebuilt from their seeds; only the sizes "
        "tiny and transfer are of BiFE's making.",
    ),
    settings={
        # No limit is long enough for a proof, so every solve lasts as long as it may.
        "quick": {
            "high.cost": "primal_dual_integral",
            "high.time_limit_s": 15.0,
            "high.instances": 4,
            "evaluation.metric": "primal_dual_integral",
            "evaluation.instances": 12,
            "evaluation.time_limit_s": 30.0,
        },
        "paper": {
            "high.cost": "primal_dual_integral",
            "high.time_limit_s": 300.0,
            "evaluation.metric": "primal_dual_integral",
        },
    },
)
