"""Combinatorial auctions (CA): bids of the "arbitrary" kind of Leyton-Brown et al. (2000)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp

_MIN_VALUE, _MAX_VALUE = 1.0, 100.0
_VALUE_DEVIATION = 0.5
_ADDITIVITY = 0.2
_BUDGET_FACTOR = 1.5
_RESALE_FACTOR = 0.5
_MAX_SUBSTITUTES = 5
_ADD_ITEM = 0.7

_Vector = NDArray[np.float64]
_Bundle = tuple[int, ...]


def combinatorial_auction(rng: RandomState, *, items: int, bids: int) -> Milp:
    """Draw a winner determination instance, that of learn2branch for an equal stream: sell each item once, at most."""
    # Substitute bids of one bidder share a dummy item.
    market = _Market(rng, items)
    accepted: list[tuple[_Bundle, float]] = []
    n_items = items
    while len(accepted) < bids:
        offers = market.bidder(limit=bids - len(accepted))
        if len(offers) > 2:
            offers = [((*bundle, n_items), price) for bundle, price in offers]
            n_items += 1
        accepted += offers

    wanted_by: list[list[int]] = [[] for _ in range(n_items)]
    for bid, (bundle, _) in enumerate(accepted):
        for item in bundle:
            wanted_by[item].append(bid)
    growing = Milp(f"combinatorial_auction-{items}x{bids}", maximise=True)
    prices = [price for _, price in accepted]
    growing.columns([f"x{j}" for j in range(1, bids + 1)], 0, 1, cost=prices, integer=True)
    growing.sums(filter(None, wanted_by), high=1)
    return growing


class _Market:
    """The items' common values and compatibilities, and bidders drawn one after another."""

    def __init__(self, rng: RandomState, items: int) -> None:
        self.rng = rng
        self.items = items
        self.values = _MIN_VALUE + (_MAX_VALUE - _MIN_VALUE) * rng.rand(items)
        compatibility = np.triu(rng.rand(items, items), k=1)
        compatibility += compatibility.T
        self.compatibility: _Vector = compatibility / compatibility.sum(axis=1)

    def bidder(self, limit: int) -> list[tuple[_Bundle, float]]:
        """Return the bids of the next bidder, `limit` at most; none if the first price came out negative."""
        interests = self.rng.rand(self.items)
        private = self.values + _MAX_VALUE * _VALUE_DEVIATION * (2 * interests - 1)
        first_item = int(self.rng.choice(self.items, p=interests / interests.sum()))
        first = self._grow(first_item, interests, size=None)
        first_price = _price(private, first)
        if first_price < 0:
            return []
        offers = {first: first_price}

        substitutes = [self._grow(item, interests, size=len(first)) for item in first]
        priced = [(bundle, _price(private, bundle)) for bundle in substitutes]
        budget = _BUDGET_FACTOR * first_price
        resale = _RESALE_FACTOR * self.values[list(first)].sum()
        for bundle, price in sorted(priced, key=lambda offer: -offer[1]):
            if len(offers) > _MAX_SUBSTITUTES or len(offers) >= limit:
                break
            value = self.values[list(bundle)].sum()
            if 0 <= price <= budget and value >= resale and bundle not in offers:
                offers[bundle] = price
        return list(offers.items())

    def _grow(self, first: int, interests: _Vector, size: int | None) -> _Bundle:
        """Return a bundle around `first`: of `size` items, or of random size for None."""
        inside = np.zeros(self.items, dtype=np.bool_)
        inside[first] = True
        count = 1
        while (self.rng.rand() < _ADD_ITEM) if size is None else (count < size):
            if count == self.items:
                break
            # learn2branch uses an integer array as an index here, so it weighs by the compatibility with items 0 and 1
            # instead of the bundle. Published results rest on this.
            outside = self.items - count
            affinity = (outside * self.compatibility[0] + count * self.compatibility[1]) / self.items
            weights = np.where(inside, 0.0, interests * affinity)
            inside[self.rng.choice(self.items, p=weights / weights.sum())] = True
            count += 1
        return tuple(np.flatnonzero(inside).tolist())


def _price(private: _Vector, bundle: _Bundle) -> float:
    return float(private[list(bundle)].sum() + len(bundle) ** (1 + _ADDITIVITY))


FAMILY = Family(
    name="combinatorial_auction",
    label="CA",
    generate=combinatorial_auction,
    sizes={
        "tiny": {"items": 80, "bids": 130},
        "test": {"items": 100, "bids": 500},
        "transfer": {"items": 200, "bids": 1000},
    },
    # What tuning finds here it finds in seconds: the demonstration ends within minutes.
    settings={"quick": {"tune.seconds": 28.0}},
)
