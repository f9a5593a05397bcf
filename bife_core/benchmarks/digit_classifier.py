"""Trained networks that tell digits apart, in integers: bounds of every neuron are the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

DATA: Final = Path(__file__).parent / "data"
NETWORKS: Final = {"mnist": DATA / "mnist_network.npz", "digits": DATA / "digits_network.npz"}
"""Weights as 16-bit integers with one denominator a layer, and the digits held out when they were trained."""

UNIT: Final = 10**6
"""Bounds are whole multiples of one over this, SCIP's feasibility tolerance; they are rounded outward."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layer:
    """One affine layer; a dense one is a convolution whose kernel is as large as its input.

    Attributes
    ----------
    weights : (inputs of a neuron, channels) int64
    biases : (channels,) int64
        Both in multiples of 1 / `denominator`.
    reads : (positions, inputs of a neuron) int64
        Which neurons of the layer below each position reads. Neuron `position * channels + channel` is the `channel`-th
        at that position.
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

    Attributes
    ----------
    layers : tuple of Layer
        All but the last are followed by max(., 0).
    images : (n, pixels) int64
        From 0 to `levels`.
    labels : (n,) int64
    pools : mapping
        By radius in multiples of 1 / `UNIT`, the pairs of an image and a rival class that have to be searched for.
    """

    layers: tuple[Layer, ...]
    levels: int
    images: Integers
    labels: Integers
    pools: dict[int, Integers]

    def box(self, image: int, radius: int) -> tuple[Integers, Integers]:
        """Return the least and greatest value of each pixel, 0 to 1, within `radius` of an image."""
        pixels = self.images[image] * UNIT
        low = (pixels - radius * self.levels) // self.levels
        high = -((-pixels - radius * self.levels) // self.levels)
        return np.maximum(low, 0), np.minimum(high, UNIT)

    def bounds(self, image: int, radius: int) -> list[tuple[Integers, Integers]]:
        """Return bounds of the pixels, and of the neurons of each layer before activation, by interval arithmetic."""
        found = [self.box(image, radius)]
        for number, layer in enumerate(self.layers):
            low, high = found[-1]
            found.append(
                layer.bounds(*(found[-1] if number == 0 else (np.maximum(low, 0), np.maximum(high, 0))))
            )
        return found

    def margins(self, image: int, radius: int) -> NDArray[np.float64]:
        """Return by how much the true class is ahead of each at least; infinite for itself."""
        low, high = (np.maximum(part, 0) for part in self.bounds(image, radius)[-2])
        last, true = self.layers[-1], self.labels[image]
        apart = last.weights[:, [true]] - last.weights
        least = low @ np.maximum(apart, 0) + high @ np.minimum(apart, 0)
        least += (last.biases[true] - last.biases) * UNIT
        return np.where(np.arange(len(least)) == true, np.inf, least / (last.denominator * UNIT))

    def pool(self, radius: int) -> Integers:
        """Return (image, rival) of the digits that are classified correctly, but not proven to be by intervals alone.

        The rival is the class with the smallest margin.
        """
        pairs = []
        for image in range(len(self.images)):
            if self.margins(image, 0).min() > 0:
                margins = self.margins(image, radius)
                if margins.min() < 0:
                    pairs.append((image, int(margins.argmin())))
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=2)
def classifier(name: str) -> Classifier:
    """Return one of `NETWORKS`."""
    return read_classifier(NETWORKS[name])


def read_classifier(path: Path) -> Classifier:
    """Return the network of a file."""
    with np.load(path) as file:
        arrays = {name: file[name].astype(np.int64) for name in file.files}
    side, channels = arrays["images"].shape[1], 1
    layers = []
    for number, (kernel, stride, _, outputs) in enumerate(arrays["shape"].tolist()):
        neurons = np.arange(side * side * channels).reshape(side, side, channels)
        windows = np.lib.stride_tricks.sliding_window_view(neurons, (kernel, kernel), axis=(0, 1))
        windows = windows[::stride, ::stride].transpose(0, 1, 3, 4, 2)
        side, channels = windows.shape[0], outputs
        layers.append(
            Layer(
                weights=arrays[f"weights_{number}"],
                biases=arrays[f"biases_{number}"],
                denominator=int(arrays[f"denominator_{number}"]),
                reads=windows.reshape(side * side, -1),
            )
        )
    return Classifier(
        layers=tuple(layers),
        levels=int(arrays["levels"]),
        images=arrays["images"].reshape(len(arrays["images"]), -1),
        labels=arrays["labels"],
        pools={
            int(name.removeprefix("pool_")): pairs
            for name, pairs in arrays.items()
            if name.startswith("pool_")
        },
    )
