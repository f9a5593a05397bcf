from __future__ import annotations

import numpy as np
import pytest

from bife_core.benchmarks.digit_classifier import UNIT, classifier

RADIUS = round(0.14 * UNIT)


def activations(network, pixels):
    """The network in floating point: inputs of the neurons of each layer, for pixels between 0 and 1."""
    found, values = [], pixels
    for layer in network.layers:
        weights, biases = layer.weights / layer.denominator, layer.biases / layer.denominator
        found.append((values[layer.reads] @ weights + biases).ravel())
        values = np.maximum(found[-1], 0)
    return found


@pytest.mark.parametrize(
    ("name", "neurons"), [("mnist", [2704, 3200, 100, 10]), ("digits", [288, 128, 32, 10])]
)
def test_the_architecture_is_the_published_one(name, neurons):
    network = classifier(name)
    assert [layer.reads.shape[0] * layer.weights.shape[1] for layer in network.layers] == neurons
    assert all(np.abs(layer.weights).max() < 2**15 for layer in network.layers)


def test_bounds_hold_everywhere_in_the_box():
    network = classifier("mnist")
    low, high = network.box(4, RADIUS)
    bounds = network.bounds(4, RADIUS)[1:]
    rng = np.random.RandomState(0)
    points = [rng.uniform(low, high), np.where(rng.rand(len(low)) < 0.5, low, high), low, high]
    for point in points:
        for inputs, (least, greatest) in zip(activations(network, point / UNIT), bounds, strict=True):
            assert (least <= UNIT * inputs).all()
            assert (UNIT * inputs <= greatest).all()


def test_bounds_are_those_of_the_box_and_no_wider_in_the_first_layer():
    network = classifier("digits")
    (low, high), (least, greatest) = network.bounds(0, RADIUS)[:2]
    first = network.layers[0]
    for neuron in (0, 17, 287):
        position, channel = divmod(neuron, 8)
        weights = first.weights[:, channel] / first.denominator
        reads = first.reads[position]
        bottom = np.where(weights > 0, low[reads], high[reads]) @ weights / UNIT
        assert least[neuron] / UNIT == pytest.approx(
            bottom + first.biases[channel] / first.denominator, abs=3e-6
        )
    assert (greatest > least).all()


def test_a_box_is_cut_to_what_pixels_may_be():
    low, high = classifier("mnist").box(0, RADIUS)
    pixels = classifier("mnist").images[0] / 255
    assert low.min() == 0
    assert high.max() == UNIT
    assert np.abs(low / UNIT - np.clip(pixels - 0.14, 0, 1)).max() < 2e-6


def test_most_held_out_digits_are_told_apart():
    network = classifier("digits")
    right = [activations(network, image / 16)[-1].argmax() for image in network.images]
    assert np.mean(right == network.labels) > 0.8


def test_the_pools_are_what_the_networks_make_them():
    """Slow for all digits: the first hundred of MNIST, and all small ones."""
    assert classifier("digits").pool(150_000).tolist() == classifier("digits").pools[150_000].tolist()
    network = classifier("mnist")
    kept = {image: rival for image, rival in network.pools[RADIUS].tolist() if image < 60}
    found = {}
    for image in range(60):
        margins = network.margins(image, RADIUS)
        if network.margins(image, 0).min() > 0 > margins.min():
            found[image] = int(margins.argmin())
    assert found == kept
