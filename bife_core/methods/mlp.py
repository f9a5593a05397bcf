"""A small neural network over the features, as machine code; with one layer it is a linear scorer."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Literal

import numba
import numpy as np
import numpy.typing as npt
from numba import int64
from pydantic import Field, FiniteFloat, model_validator

from bife_core.features import FEATURES, N_FEATURES
from bife_core.jit import jit_for
from bife_core.methods.scorer import Scorer
from bife_core.rules.types import full_rows
from bife_core.scip.compiled.memory import float64_view
from bife_core.values import Value

_INDEX: Final = {feature.name: feature.index for feature in FEATURES}
_RELU: Final = 0.0
_TANH: Final = 1.0


class Layer(Value):
    """An affine map.

    Attributes
    ----------
    weights : (n_out, n_in) float
        One row per output.
    bias : (n_out,) float
    """

    weights: tuple[tuple[FiniteFloat, ...], ...] = Field(min_length=1)
    bias: tuple[FiniteFloat, ...]


class MlpMethod(Scorer):
    """Scores a candidate by a multilayer perceptron: ``W_k a(... a(W_1 z + b_1) ...) + b_k``, z = (x - mean) / scale.

    Attributes
    ----------
    inputs : tuple of str
        Names of the features it reads, in the order of the first layer's columns; by default those of
        Khalil et al.
    mean, scale : (n_in,) float
        Shift and scale of each input; empty leaves the inputs as they are.
    layers : tuple of Layer
        The last has one output, the score.
    activation : str
        What stands between the layers.
    """

    kind: Literal["mlp"] = "mlp"
    inputs: tuple[str, ...] = tuple(feature.name for feature in FEATURES[:N_FEATURES])
    mean: tuple[FiniteFloat, ...] = ()
    scale: tuple[FiniteFloat, ...] = ()
    layers: tuple[Layer, ...] = Field(min_length=1)
    activation: Literal["relu", "tanh"] = "relu"

    @model_validator(mode="after")
    def _shapes_fit(self) -> MlpMethod:
        unknown = sorted(set(self.inputs) - set(_INDEX))
        if unknown:
            raise ValueError(f"there is no feature {unknown[0]!r}; docs/features.md lists all")
        for name in ("mean", "scale"):
            if len(getattr(self, name)) not in (0, len(self.inputs)):
                raise ValueError(
                    f"{name!r} needs one number for each of the {len(self.inputs)} inputs, or none"
                )
        if 0.0 in self.scale:
            raise ValueError("'scale' divides and cannot be 0")
        width = len(self.inputs)
        for number, layer in enumerate(self.layers, start=1):
            if any(len(row) != width for row in layer.weights) or len(layer.bias) != len(layer.weights):
                raise ValueError(f"layer {number} needs rows of {width} weights, and one bias a row")
            width = len(layer.weights)
        if width != 1:
            raise ValueError(f"the last layer gives the score and needs one row, not {width}")
        return self

    @property
    def features(self) -> frozenset[int]:
        """Columns of the inputs."""
        return frozenset(_INDEX[name] for name in self.inputs)

    @property
    def address(self) -> int:
        """Address of the network's machine code."""
        return int(self._native[1].address)

    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Score candidates; see `Scorer`."""
        matrix = full_rows(X)
        scores = np.empty(len(matrix))
        self._native[1].ctypes(matrix.ctypes.data, len(matrix), scores.ctypes.data)
        return scores

    @cached_property
    def _native(self) -> tuple[npt.NDArray[np.float64], Any]:
        """The numbers `_forward` reads, and a C function that hands it their address."""
        width = len(self.inputs)
        numbers = [float(len(self.layers)), _TANH if self.activation == "tanh" else _RELU, float(width)]
        numbers += [float(_INDEX[name]) for name in self.inputs]
        numbers += self.mean or (0.0,) * width
        numbers += self.scale or (1.0,) * width
        for layer in self.layers:
            numbers.append(float(len(layer.bias)))
            numbers += [weight for row in layer.weights for weight in row]
            numbers += layer.bias
        kept = np.array([float(len(numbers) + 1), *numbers])
        where = kept.ctypes.data

        def score(matrix, rows, scores):  # type: ignore[no-untyped-def]
            return _forward(where, matrix, rows, scores)

        return kept, numba.cfunc(int64(int64, int64, int64))(score)


@jit_for(int64(int64, int64, int64, int64))
def _forward(where, matrix, rows, scores):  # type: ignore[no-untyped-def]
    """Score `rows` candidates of the matrix at an address with the network whose numbers lie at `where`."""
    numbers = float64_view(where, int64(float64_view(where, 1)[0]))
    features = float64_view(matrix, rows * N_FEATURES)
    out = float64_view(scores, rows)
    n_layers, n_in = int64(numbers[1]), int64(numbers[3])
    values, following = np.empty(len(numbers)), np.empty(len(numbers))
    for row in range(rows):
        for i in range(n_in):
            value = features[row * N_FEATURES + int64(numbers[4 + i])]
            values[i] = (value - numbers[4 + n_in + i]) / numbers[4 + 2 * n_in + i]
        width, at = n_in, 4 + 3 * n_in
        for number in range(n_layers):
            n_out = int64(numbers[at])
            bias = at + 1 + n_out * width
            for j in range(n_out):
                total = 0.0
                for i in range(width):
                    total += numbers[at + 1 + j * width + i] * values[i]
                total += numbers[bias + j]
                if number < n_layers - 1:
                    total = np.tanh(total) if numbers[2] == _TANH else max(total, 0.0)
                following[j] = total
            values, following = following, values
            width, at = n_out, bias + n_out
        out[row] = values[0]
    return 0
