from __future__ import annotations

import numpy as np
import pytest

from bife_core.benchmarks.base import Place
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.digit_classifier import UNIT, classifier
from bife_core.benchmarks.generated import GeneratedBenchmark, content_digest
from bife_core.benchmarks.milp import mps_text
from bife_core.benchmarks.network_verification import network_verification
from tests.bife_core.benchmarks.test_digit_classifier import activations


def place(split="test", index=0, seed=0, size="test"):
    return Place("network_verification", size, split, index, seed)


@pytest.fixture(scope="module")
def model():
    return network_verification(place(), network="mnist", radius=0.14)


def test_an_instance_is_the_same_on_every_machine(model):
    """The network was trained once; everything since is integer arithmetic."""
    assert content_digest(mps_text(model).encode()) == "fbb66f3f324ef499"


def test_it_has_a_row_for_every_neuron_that_may_be_on_and_three_for_one_that_may_be_off(model):
    unsure = int(model.integer.sum())
    inputs = sum(name[0] == "a" for name in model.column_names)
    assert sum(name[0] == "x" for name in model.column_names) == 784
    assert model.rows.shape == (inputs + 2 + 3 * unsure, 784 + inputs + 2 + 2 * unsure)


def test_the_network_itself_is_a_feasible_point(model):
    """Pixels anywhere in the box, and what the network makes of them, keep to all rows and bounds."""
    _, image, true, rival = model.name.split("-")
    network = classifier("mnist")
    low, high = network.box(int(image), 140_000)
    pixels = np.random.RandomState(1).uniform(low, high) / UNIT
    *hidden, logits = activations(network, pixels)
    values = {f"x_{n}": value for n, value in enumerate(pixels)}
    values |= {f"logit_{n}": value for n, value in enumerate(logits)}
    for number, inputs in enumerate(hidden, start=1):
        for n, value in enumerate(inputs):
            values |= {
                f"a{number}_{n}": value,
                f"h{number}_{n}": max(value, 0),
                f"s{number}_{n}": float(value > 0),
            }
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


@pytest.mark.parametrize("size", ["test", "transfer"])
def test_there_are_enough_for_the_published_protocol(size):
    count = FAMILIES["network_verification"].count
    assert all(count(size, split) >= 20 for split in ("collection", "design", "validation", "test"))
