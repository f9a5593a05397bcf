"""Balanced item placement (BIP): the instances of the ML4CO competition of 2021, rebuilt from their seeds.

With B bins b, R resources r and items i: minimise the sum of deficit(b,r) plus 10 B R times the sum of max_deficit(r).
Every item is in one bin, and no bin holds more than twice the even share of a resource;
deficit(b,r) + (B / total) times the sum of size(i,r) place(i,b) is at least 1, and deficit(b,r) at most max_deficit(r).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from random import Random
from typing import Final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bife_core.instances.base import Family, Place
from bife_core.instances.milp import Milp

_SEED: Final = 42  # instance k of the competition is drawn by Python's own generator, seeded with this plus k

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
) -> Milp:
    """Rebuild instance `k`: place items in bins so that each resource is used evenly.

    By default 0 to 9,899 are the published training set, then come 100 instances of validation and 100 of test. `small`
    items take 0 to 0.1 of each resource, `big` ones a share in the range `big_sizes`.
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

    growing = Milp(f"Knapsack_{k}")
    names = [f"place_{i}_{b}" for i in range(items) for b in range(bins)]
    place = growing.columns(names, 0, 1, integer=True).reshape(items, bins)
    pairs = list(product(range(bins), range(resources)))
    deficit = growing.columns([f"deficit_{b}_{r}" for b, r in pairs], 0, 1, cost=1.0)
    deficit = deficit.reshape(bins, resources)
    names = [f"max_deficit_{r}" for r in range(resources)]
    greatest = growing.columns(names, 0, 1, cost=10.0 * len(pairs))
    for i in range(items):
        growing.row(f"copies_ct_{i}", place[i], low=1, high=1)
    capacity = _rounded(_CAPACITY_FACTOR * total / bins)
    for b, r in pairs:
        growing.row(f"supply_ct_{b}_{r}", place[:, b], _rounded(demand[:, r]), high=capacity[r])
    share = bins * demand / total
    for r, b in product(range(resources), range(bins)):
        columns, parts = [*place[:, b], deficit[b, r]], [*_rounded(share[:, r]), 1.0]
        growing.row(f"deficit_ct_{b}_{r}", columns, parts, low=1)
    for b, r in pairs:
        growing.row(f"max_deficit_ct_{b}_{r}", [greatest[r], deficit[b, r]], [1.0, -1.0], low=0)
    return growing


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to six significant digits, as the published files were written."""
    return np.array([float(f"{value:g}") for value in values.tolist()])


def competition_index(place: Place) -> int:
    """Return the competition's number; the seed orders only its training set, which collection and design share."""
    if place.split == "validation":
        return _TRAIN + place.index
    if place.split == "test":
        return _TRAIN + _VALID + place.index
    return int(_order(place.seed)[2 * place.index + (place.split == "design")])


@lru_cache(maxsize=4)
def _order(seed: int) -> list[int]:
    order: list[int] = RandomState(seed % 2**32).permutation(_TRAIN).tolist()
    return order


_BY_INTEGRAL: Final = {"high.cost": "primal_integral", "evaluation.metric": "primal_integral"}

FAMILY = Family(
    name="item_placement",
    label="BIP",
    generate=item_placement,
    source=competition_index,
    count=lambda _, split: {"validation": _VALID, "test": _TEST}.get(split, _TRAIN // 2),
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
            **_BY_INTEGRAL,
            "high.time_limit_s": 15.0,
            "high.instances": 4,
            "evaluation.instances": 12,
            "evaluation.most_instances": 24,
            "evaluation.time_limit_s": 30.0,
        },
        "paper": {**_BY_INTEGRAL, "high.time_limit_s": 300.0},
    },
)
