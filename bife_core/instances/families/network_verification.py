"""Neural network verification (NNV): whether an image can be changed a little so that the network errs.

Formulation and architecture are those of the published set (Nair et al. 2020; the small network of Gowal et al. 2018,
trained by interval bound propagation on MNIST); the weights are BiFE's own, trained once (``data/DATA.md``).

Minimise logit(true) - logit(rival) over the box around a picture. Every neuron is a row a = w h + c. One that may be
on or off has h >= a, h <= a - l (1 - s) and h <= u s, with bounds l < 0 < u from interval arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from bife_core.instances.base import DATA, QUICK, Family, Place, Split
from bife_core.instances.milp import Milp

NETWORKS: Final = {"mnist": DATA / "mnist_network.npz", "digits": DATA / "digits_network.npz"}
"""Weights as 16-bit integers with one denominator a layer, and the digits held out when they were trained."""

UNIT: Final = 10**6
"""Bounds are whole multiples of one over this, SCIP's feasibility tolerance; they are rounded outward."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layer:
    """One affine layer, in multiples of 1 / `denominator`; a dense one is a convolution as large as its input.

    `weights` are (inputs of a neuron, channels), `biases` (channels,), and `reads` (positions, inputs of a neuron) are
    the neurons of the layer below that a position reads; a neuron is ``position * channels + channel``.
    """

    weights: Integers
    biases: Integers
    denominator: int
    reads: Integers

    def bounds(self, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """Return bounds of all neurons before activation, in multiples of 1 / `UNIT` and wider by one of these."""
        positive, negative = np.maximum(self.weights, 0), np.minimum(self.weights, 0)
        low, high = low[self.reads], high[self.reads]
        least = low @ positive + high @ negative + self.biases * UNIT
        greatest = high @ positive + low @ negative + self.biases * UNIT
        return (least // self.denominator - 1).ravel(), (-(-greatest // self.denominator) + 1).ravel()


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network of rectified linear units, and digits it has not seen.

    `images` are (n, pixels) from 0 to `levels`. `pools` holds by radius, in multiples of 1 / `UNIT`, the pairs of a
    correctly classified image and the rival class of smallest margin that intervals alone do not decide.
    """

    layers: tuple[Layer, ...]
    levels: int
    images: Integers
    labels: Integers
    pools: dict[int, Integers]

    def bounds(self, image: int, radius: int) -> list[tuple[Integers, Integers]]:
        """Return bounds of the pixels within `radius` of an image, and of each layer's neurons before activation."""
        pixels = self.images[image] * UNIT
        low = (pixels - radius * self.levels) // self.levels
        high = -((-pixels - radius * self.levels) // self.levels)
        bounds = [(np.maximum(low, 0), np.minimum(high, UNIT))]
        for layer in self.layers:
            low, high = bounds[-1]
            bounds.append(layer.bounds(np.maximum(low, 0), np.maximum(high, 0)))
        return bounds


@lru_cache(maxsize=2)
def classifier(name: str) -> Classifier:
    """Return one of `NETWORKS`."""
    with np.load(NETWORKS[name]) as file:
        arrays = {name: file[name].astype(np.int64) for name in file.files}
    side, channels = arrays["images"].shape[1], 1
    layers = []
    for number, (kernel, stride, _, outputs) in enumerate(arrays["shape"].tolist()):
        neurons = np.arange(side * side * channels).reshape(side, side, channels)
        windows = np.lib.stride_tricks.sliding_window_view(neurons, (kernel, kernel), axis=(0, 1))
        windows = windows[::stride, ::stride].transpose(0, 1, 3, 4, 2)
        side, channels = windows.shape[0], outputs
        weights, biases = arrays[f"weights_{number}"], arrays[f"biases_{number}"]
        reads = windows.reshape(side * side, -1)
        layers.append(Layer(weights, biases, int(arrays[f"denominator_{number}"]), reads))
    return Classifier(
        layers=tuple(layers),
        levels=int(arrays["levels"]),
        images=arrays["images"].reshape(len(arrays["images"]), -1),
        labels=arrays["labels"],
        pools={int(name[5:]): pairs for name, pairs in arrays.items() if name.startswith("pool_")},
    )


_SPLIT_OF: Final[tuple[Split, ...]] = (
    "collection", "design", "collection", "design", "collection", "design", "validation", "validation", "test", "test",
)  # fmt: skip
"""Digits are split in this order, over and over."""


def network_verification(place: Place, *, network: str, radius: float) -> Milp:
    """Return the instance of one held-out digit and its most dangerous rival.

    Each digit is in one split only; its pixels may move by `radius`, where white is 1. Minimise ``logit_true -
    logit_rival``, negative if the network can err. Columns are pixels ``x``, inputs ``a`` of neurons, and, for a
    neuron that may be on or off, its output ``h`` and a binary ``s``; neurons that are always off are left out.
    """
    pairs = _pairs(place.split, network, radius)
    if place.split in ("collection", "design"):  # which the seed orders
        pairs = RandomState(place.seed % 2**32).permutation(pairs)
    image, rival = pairs[place.index].tolist()
    model = classifier(network)
    bounds = model.bounds(image, round(radius * UNIT))
    true = int(model.labels[image])
    growing = Milp(f"{network}-{image}-{true}-{rival}")

    def columns(name: str, bounds: tuple[Integers, Integers], kept: Integers, **more: Any) -> Integers:
        """Add a column for each of the `kept` neurons, and return where each neuron's column is, or -1."""
        where = np.full(len(bounds[0]), -1)
        names = [f"{name}_{neuron}" for neuron in kept.tolist()]
        low, high = (part[kept] / UNIT for part in bounds)
        where[kept] = growing.columns(names, low, high, **more)
        return where

    below = columns("x", bounds[0], np.arange(len(bounds[0][0])))
    for number, (layer, (low, high)) in enumerate(zip(model.layers, bounds[1:], strict=True), start=1):
        last = number == len(model.layers)
        kept = np.array(sorted((true, rival))) if last else np.flatnonzero(high > 0)
        cost = np.where(kept == true, 1.0, -1.0) if last else 0.0
        inputs = columns("logit" if last else f"a{number}", (low, high), kept, cost=cost)
        for neuron in kept.tolist():
            position, channel = divmod(neuron, layer.weights.shape[1])
            sources, weights = below[layer.reads[position]], layer.weights[:, channel]
            seen = (sources >= 0) & (weights != 0)
            bias = float(layer.biases[channel] / layer.denominator)
            members, parts = [inputs[neuron], *sources[seen]], [1.0, *(-weights[seen] / layer.denominator)]
            growing.row(f"affine{number}_{neuron}", members, parts, low=bias, high=bias)
        if last:
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
    return growing


def _pairs(split: Split, network: str, radius: float) -> Integers:
    pool = classifier(network).pools[round(radius * UNIT)]
    return pool[[_SPLIT_OF[number % len(_SPLIT_OF)] == split for number in range(len(pool))]]


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
    count=lambda size, split: len(_pairs(split, **_SIZES[size])),
    sizes=_SIZES,
    data=tuple(NETWORKS.values()),
    notes=(
        "network_verification has the architecture and formulation of the published set on real digits; the network's "
        "weights are of BiFE's own training.",
    ),
    settings={"quick": QUICK, "paper": {"high.time_limit_s": 300.0}},
)
