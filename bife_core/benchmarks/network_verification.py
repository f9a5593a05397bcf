"""Neural network verification (NNV): whether an image can be changed a little so that the network errs.

Formulation and architecture are those of the published set (Nair et al. 2020; the small network of Gowal et al. 2018,
trained by interval bound propagation on MNIST); the weights are BiFE's own, trained once (``data/DATA.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.random import RandomState

from bife_core.benchmarks.base import QUICK, Family, Place, Split
from bife_core.benchmarks.digit_classifier import NETWORKS, UNIT, Integers, classifier
from bife_core.benchmarks.milp import Assembly, MilpData

_DEALT: Final[tuple[Split, ...]] = (
    "collection", "design", "collection", "design", "collection", "design", "validation", "validation", "test", "test",
)  # fmt: skip
"""The splits that digits are dealt out to, over and over."""


def network_verification(place: Place, *, network: str, radius: float) -> MilpData:
    """Return the instance of one held-out digit and its most dangerous rival.

    Parameters
    ----------
    place : Place
        Which of the digits that `radius` does not let intervals alone decide; each stands in one split only.
    network : {"mnist", "digits"}
        Network for the 28 x 28 digits of MNIST, or the tiny one for 8 x 8 digits.
    radius : float
        How far each pixel may move, where white is 1.

    Returns
    -------
    MilpData
        Minimise ``logit_true - logit_rival``, which is negative where the image can be changed so that the network
        errs. Columns are pixels ``x_i``, inputs ``a`` of the neurons, and, of a neuron that may be on or off, its
        output ``h`` and a binary ``s``; neurons that are always off are left out.
    """
    image, rival = _pair(place, network, radius)
    known = classifier(network)
    bounds = known.bounds(image, round(radius * UNIT))
    true = int(known.labels[image])
    growing = Assembly()

    def columns(
        name: str, bounds: tuple[Integers, Integers], kept: Integers, integer: bool = False
    ) -> Integers:
        """Add a column for each of the `kept` neurons, and return where each neuron's column is, or -1."""
        where = np.full(len(bounds[0]), -1)
        names = [f"{name}_{neuron}" for neuron in kept.tolist()]
        low, high = (part[kept] / UNIT for part in bounds)
        where[kept] = growing.columns(names, low, high, integer=integer)
        return where

    below = columns("x", bounds[0], np.arange(len(bounds[0][0])))
    for number, (layer, (low, high)) in enumerate(zip(known.layers, bounds[1:], strict=True), start=1):
        last = number == len(known.layers)
        kept = np.array(sorted((true, rival))) if last else np.flatnonzero(high > 0)
        inputs = columns("logit" if last else f"a{number}", (low, high), kept)
        for neuron in kept.tolist():
            position, channel = divmod(neuron, layer.weights.shape[1])
            sources, weights = below[layer.reads[position]], layer.weights[:, channel]
            seen = (sources >= 0) & (weights != 0)
            bias = float(layer.biases[channel] / layer.denominator)
            growing.row(
                f"affine{number}_{neuron}",
                [inputs[neuron], *sources[seen]],
                [1.0, *(-weights[seen] / layer.denominator)],
                low=bias,
                high=bias,
            )
        if last:
            growing.charge({int(inputs[true]): 1.0, int(inputs[rival]): -1.0})
            break
        unsure = kept[low[kept] < 0]
        outputs = columns(f"h{number}", (np.zeros_like(low), high), unsure)
        on = columns(f"s{number}", (np.zeros_like(low), np.full_like(low, UNIT)), unsure, integer=True)
        for neuron in unsure.tolist():
            a, h, s = inputs[neuron], outputs[neuron], on[neuron]
            least, greatest = float(low[neuron] / UNIT), float(high[neuron] / UNIT)
            growing.row(f"above{number}_{neuron}", [h, a], [1.0, -1.0], low=0.0)
            growing.row(f"open{number}_{neuron}", [h, a, s], [1.0, -1.0, -least], high=-least)
            growing.row(f"shut{number}_{neuron}", [h, s], [1.0, -greatest], high=0.0)
        below = np.where(outputs >= 0, outputs, inputs)
    return growing.model(f"{network}-{image}-{true}-{rival}")


def _pair(place: Place, network: str, radius: float) -> tuple[int, int]:
    """Return an image and its rival; the seed orders those of collection and design."""
    pool = _pool(network, radius)
    mine = [number for number in range(len(pool)) if _split_of(number) == place.split]
    if place.split in ("collection", "design"):
        mine = RandomState(place.seed % 2**32).permutation(mine).tolist()
    image, rival = pool[mine[place.index]]
    return int(image), int(rival)


def _split_of(number: int) -> Split:
    return _DEALT[number % len(_DEALT)]


def _pool(network: str, radius: float) -> Integers:
    return classifier(network).pools[round(radius * UNIT)]


def _count(size: str, split: Split) -> int:
    return sum(_split_of(number) == split for number in range(len(_pool(**_SIZES[size]))))


_SIZES: Final[Mapping[str, Mapping[str, Any]]] = {
    "tiny": {"network": "digits", "radius": 0.15},
    "small": {"network": "mnist", "radius": 0.13},
    "test": {"network": "mnist", "radius": 0.14},
    "transfer": {"network": "mnist", "radius": 0.16},
}

FAMILY = Family(
    name="network_verification",
    label="NNV",
    generate=network_verification,
    source=lambda place: place,
    count=_count,
    sizes=_SIZES,
    data=tuple(NETWORKS.values()),
    notes=(
        "network_verification has the architecture and formulation of the published set on real digits; the network's "
        "weights are of BiFE's own training.",
    ),
    settings={
        "quick": QUICK,
        "paper": {"high.time_limit_s": 300.0},
    },
)
