import numpy as np
import pytest

from bife_core.instances.base import Place, content_digest
from bife_core.instances.config import FAMILIES
from bife_core.instances.families.network_verification import UNIT, classifier, network_verification
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.instances.milp import mps_text
from tests.support.read_back import arrays


def place(split="test", index=0, seed=0, size="test"):
    return Place("network_verification", size, split, index, seed)


@pytest.fixture(scope="module")
def model():
    return network_verification(place(), network="mnist", radius=0.14)


def test_an_instance_is_the_same_on_every_machine(model):
    """The network was trained once; everything since is integer arithmetic."""
    assert content_digest(mps_text(model).encode()) == "fbb66f3f324ef499"


def test_the_network_itself_is_a_feasible_point(model):
    """Pixels anywhere in the box, and what the network makes of them, keep to all rows and bounds."""
    _, image, true, rival = model.name.split("-")
    model = arrays(model)
    network = classifier("mnist")
    low, high = network.bounds(int(image), 140_000)[0]
    pixels = np.random.RandomState(1).uniform(low, high) / UNIT
    *hidden, logits = activations(network, pixels)
    values = {f"x_{n}": value for n, value in enumerate(pixels)}
    values |= {f"logit_{n}": value for n, value in enumerate(logits)}
    for number, inputs in enumerate(hidden, start=1):
        for n, value in enumerate(inputs):
            of_kind = {"a": value, "h": max(value, 0), "s": float(value > 0)}
            values |= {f"{kind}{number}_{n}": each for kind, each in of_kind.items()}
    point = np.array([values[name] for name in model.column_names])
    assert (model.lower <= point).all()
    assert (point <= model.upper).all()
    activity = model.rows @ point
    assert (activity >= model.row_lower - 1e-9).all()
    assert (activity <= model.row_upper + 1e-9).all()
    assert model.objective @ point == pytest.approx(logits[int(true)] - logits[int(rival)])


def test_a_digit_stands_in_one_split_whatever_the_seed(tmp_path):
    family = FAMILIES["network_verification"]
    digits = {}
    for split in ("collection", "design", "validation", "test"):
        for seed in (0, 1):
            opened = GeneratedBenchmark(family, "tiny", seed, tmp_path)
            count = family.count("tiny", split)
            digits[split, seed] = [opened.model(split, index).name for index in range(count)]
    assert sorted(digits["design", 0]) == sorted(digits["design", 1]) != digits["design", 0]
    assert digits["test", 0] == digits["test", 1]
    every = [name.split("-")[1] for (_, seed), names in digits.items() if seed == 0 for name in names]
    assert len(every) == len(set(every)) == len(classifier("digits").pools[150_000])


RADIUS = round(0.14 * UNIT)


def activations(network, pixels):
    """The network in floating point: inputs of the neurons of each layer, for pixels between 0 and 1."""
    inputs_of, values = [], pixels
    for layer in network.layers:
        weights, biases = layer.weights / layer.denominator, layer.biases / layer.denominator
        inputs_of.append((values[layer.reads] @ weights + biases).ravel())
        values = np.maximum(inputs_of[-1], 0)
    return inputs_of


@pytest.mark.parametrize(
    ("name", "neurons"), [("mnist", [2704, 3200, 100, 10]), ("digits", [288, 128, 32, 10])]
)
def test_the_architecture_is_the_published_one(name, neurons):
    network = classifier(name)
    assert [layer.reads.shape[0] * layer.weights.shape[1] for layer in network.layers] == neurons
    assert all(np.abs(layer.weights).max() < 2**15 for layer in network.layers)


def test_bounds_hold_everywhere_in_the_box():
    network = classifier("mnist")
    low, high = network.bounds(4, RADIUS)[0]
    bounds = network.bounds(4, RADIUS)[1:]
    rng = np.random.RandomState(0)
    points = [rng.uniform(low, high), np.where(rng.rand(len(low)) < 0.5, low, high), low, high]
    for point in points:
        for inputs, (least, greatest) in zip(activations(network, point / UNIT), bounds, strict=True):
            assert (least <= UNIT * inputs).all()
            assert (UNIT * inputs <= greatest).all()
