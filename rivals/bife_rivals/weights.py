"""The weights of networks: arrays by name, text in the JSON of a method, and one block of memory for machine code."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bife_core import FEATURES
from bife_core.extend import ROW_FEATURES, VARIABLE_FEATURES, Node

Floats = npt.NDArray[np.float32]
Shapes = dict[str, tuple[int, ...]]

N_FEATURES: Final = len(FEATURES)
N_ROW: Final = len(ROW_FEATURES)
N_VARIABLE: Final = len(VARIABLE_FEATURES)
SIZE: Final = 64
"""Units of every layer of the graph network."""


def _layers(prefix: str, *widths: int) -> Shapes:
    shapes: Shapes = {}
    for number, (width, size) in enumerate(pairwise(widths), start=1):
        shapes |= {f"{prefix}.{number}.weight": (width, size), f"{prefix}.{number}.bias": (size,)}
    return shapes


def _convolution(place: str) -> Shapes:
    square = (SIZE, SIZE)
    return {
        f"{place}.row.weight": square,
        f"{place}.row.bias": (SIZE,),
        f"{place}.edge.weight": (1, SIZE),
        f"{place}.variable.weight": square,
        f"{place}.message.weight": square,
        f"{place}.message.bias": (SIZE,),
        **_layers(place, 2 * SIZE, SIZE, SIZE),
    }


GNN: Final[Shapes] = {
    **_layers("rows", N_ROW, SIZE, SIZE),
    **_layers("variables", N_VARIABLE, SIZE, SIZE),
    **_convolution("to_rows"),
    **_convolution("to_variables"),
    **_layers("score", SIZE, SIZE),
    "score.2.weight": (SIZE, 1),
}
"""Arrays of the graph network, in the order in which machine code reads them."""

INPUTS: Final = N_VARIABLE + N_FEATURES + 1
HIDDEN: Final = 256
LAYERS: Final = 3
SLOPE: Final = 0.01
"""Of FiLM's perceptron: what it sees of a candidate, units and number of its layers, and what its units leak."""

EMBEDDING: Final[Shapes] = {name: shape for name, shape in GNN.items() if not name.startswith("score.")}
PERCEPTRON: Final[Shapes] = {
    "film.norm.scale": (SIZE,),
    "film.norm.bias": (SIZE,),
    "film.weight": (SIZE, LAYERS * 2 * HIDDEN),
    "film.bias": (LAYERS * 2 * HIDDEN,),
    **_layers("mlp", INPUTS, *[HIDDEN] * LAYERS),
    "mlp.out.weight": (HIDDEN, 1),
}
FILM: Final[Shapes] = EMBEDDING | PERCEPTRON
"""Arrays of FiLM: those of the graph network at the root, and those behind it."""

NORMS: Final[Shapes] = {
    **{f"norm.rows.{what}": (N_ROW,) for what in ("shift", "scale")},
    **{f"norm.variables.{what}": (N_VARIABLE,) for what in ("shift", "scale")},
    **{f"norm.edges.{what}": (1,) for what in ("shift", "scale")},
    **{
        f"norm.{place}.{what}.scale": (1,)
        for place in ("to_rows", "to_variables")
        for what in ("message", "sum")
    },
}
"""Its normalisations, which training fits to samples before it begins."""


def folded(weights: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the arrays with all normalisations folded into them: the same function of the same inputs."""
    w = {name: np.asarray(array, dtype=np.float64) for name, array in weights.items()}
    for side in ("rows", "variables"):
        shift, scale = w[f"norm.{side}.shift"], w[f"norm.{side}.scale"]
        w[f"{side}.1.bias"] = w[f"{side}.1.bias"] + (shift * scale) @ w[f"{side}.1.weight"]
        w[f"{side}.1.weight"] = scale[:, None] * w[f"{side}.1.weight"]
    for place in ("to_rows", "to_variables"):
        message, total = w[f"norm.{place}.message.scale"], w[f"norm.{place}.sum.scale"]
        edge = w["norm.edges.scale"] * w[f"{place}.edge.weight"]
        bias = w[f"{place}.row.bias"] + (w["norm.edges.shift"] * edge)[0]
        w |= {f"{place}.row.bias": message * bias, f"{place}.edge.weight": message * edge}
        for name in ("row", "variable"):
            w[f"{place}.{name}.weight"] = message * w[f"{place}.{name}.weight"]
        for part in ("weight", "bias"):
            w[f"{place}.message.{part}"] = total * w[f"{place}.message.{part}"]
    return {name: w[name].astype(np.float32) for name in w if not name.startswith("norm.")}


def scaled_inputs(node: Node) -> Floats:
    """Return what FiLM's perceptron sees: 19 + 72 features, scaled to -1 to 1 over the candidates, and a 1."""
    features = np.concatenate([node.variables[node.candidates], node.features], axis=1).astype(np.float64)
    low = features.min(axis=0)
    span = features.max(axis=0) - low
    scaled = 2.0 * (features - low) / np.where(span > 0, span, 1.0) - 1.0
    return np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1).astype(np.float32)


def block(arrays: Mapping[str, Any], names: Iterable[str]) -> Floats:
    """Return arrays one behind the other, in the order of `names`."""
    return np.concatenate([np.asarray(arrays[name], dtype=np.float32).ravel() for name in names])


def as_text(weights: Mapping[str, Any]) -> str:
    """Return the safetensors file of weights in base 64."""
    arrays = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in weights.items()}
    return base64.b64encode(save(arrays)).decode()


@cache
def of_text(text: str) -> dict[str, Floats]:
    """Return weights that `as_text` wrote; a ValueError says that they are none."""
    try:
        return dict(load(base64.b64decode(text, validate=True)))
    except (ValueError, SafetensorError) as error:
        raise ValueError(f"the weights are no safetensors file in base 64 ({error})") from error
