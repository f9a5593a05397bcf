"""Trained networks as methods: they see the node, and score its candidates by machine code.

This module, like all that a solve needs, does without JAX.
"""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from functools import cache
from typing import Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from bife_core import FEATURES, NodeMethod
from bife_core.extend import ROW_FEATURES, VARIABLE_FEATURES, Node, free_state
from bife_rivals import kernels
from bife_rivals.weights import EMBEDDING, GNN, NORMS, PERCEPTRON, Floats, Shapes, block, folded, of_text

_PROTOTYPE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

ARRAYS: Final[dict[str, npt.NDArray[Any]]] = {
    "features": np.empty((1, len(FEATURES))),
    "variables": np.empty((1, len(VARIABLE_FEATURES))),
    "rows": np.empty((1, len(ROW_FEATURES))),
    "edge_values": np.empty(1),
    **dict.fromkeys(("candidates", "edge_starts", "edge_variables"), np.empty(1, np.int64)),
}
"""The arrays of a node as machine code takes them, each of one item."""


class NativeMethod(NodeMethod):
    """Base of methods whose machine code, at `code`, scores a node in SCIP and in `score` alike."""

    @property
    @abstractmethod
    def code(self) -> int:
        """Address of the machine code."""

    @property
    def address(self) -> int:
        """The same; a subclass that SCIP is to call from Python has 0 here."""
        return self.code

    def score(self, node: Node, /, first: Node | None = None) -> npt.NDArray[np.float64]:
        """Score the candidates of a node by the machine code that runs in SCIP, which may have seen another first."""
        memory = np.zeros(2, np.int64)
        try:
            return [self._scored(shown, memory) for shown in (first, node) if shown is not None][-1]
        finally:
            free_state(memory, slots=(0,))

    def _scored(self, node: Node, memory: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        arrays: dict[str, npt.NDArray[Any]] = {
            name: np.ascontiguousarray(getattr(node, name), item.dtype) for name, item in ARRAYS.items()
        }
        at = {name: array.ctypes.data for name, array in arrays.items()}
        words = [at["features"], at["variables"], len(node.variables), at["candidates"]]
        words += [at["rows"], len(node.rows), at["edge_starts"], at["edge_variables"], at["edge_values"]]
        words += [node.first, node.depth, self.data, memory.ctypes.data]
        packed = np.array(words, dtype=np.int64)
        scores = np.empty(len(node.candidates))
        if _PROTOTYPE(self.code)(packed.ctypes.data, len(scores), scores.ctypes.data):
            raise ValueError(f"{self.name} must see the first node of a solve, with its graph")
        return scores


class NetworkMethod(NativeMethod):
    """Base of the networks: `weights` are a safetensors file in base 64, as `bife_rivals.training` writes it."""

    revision: ClassVar[str] = "1"
    """Counts changes of what machine code computes, which solves are stored under."""
    shapes: ClassVar[Shapes]
    """Arrays, in the order in which the forward pass reads them once normalisations are folded into them."""
    forward: ClassVar[Any]
    """The forward pass in `kernels`."""

    about: dict[str, int | float | str] = Field(
        default_factory=dict, description="What its training took and how well it imitates; changes no solve."
    )
    weights: str = Field(repr=False)

    @field_validator("weights")
    @classmethod
    def _complete(cls, text: str) -> str:
        shapes = {name: array.shape for name, array in of_text(text).items()}
        if shapes != cls.shapes:
            wrong = sorted({name for name, _ in shapes.items() ^ cls.shapes.items()})
            raise ValueError(f"the weights of a {cls.__name__} have other arrays: {', '.join(wrong[:3])}")
        return text

    @property
    def identity(self) -> str:
        """Hash of all fields but the name and `about`."""
        return super(NetworkMethod, self.model_copy(update={"about": {}})).identity

    @property
    def data(self) -> int:
        """Address of the weights as machine code reads them."""
        return int(_block(type(self), self.weights).ctypes.data)

    @property
    def code(self) -> int:
        """Address of the forward pass."""
        return int(kernels.machine_code(type(self).forward).address)


@cache
def _block(kind: type[NetworkMethod], text: str) -> Floats:
    arrays = folded(of_text(text))
    return block(arrays, [name for name in kind.shapes if name in arrays])


class GnnMethod(NetworkMethod):
    """The graph network of Gasse et al.: two half-convolutions over the LP at every node."""

    kind: Literal["gnn"] = "gnn"
    name: str = "gnn"
    shapes: ClassVar[Shapes] = GNN | NORMS
    forward: ClassVar[Any] = kernels.gnn


class FilmMethod(NetworkMethod):
    """FiLM of Gupta et al.: the graph network at the first node, a modulated perceptron at all of them."""

    kind: Literal["film"] = "film"
    name: str = "film"
    shapes: ClassVar[Shapes] = PERCEPTRON | EMBEDDING | NORMS
    forward: ClassVar[Any] = kernels.film

    @property
    def features(self) -> None:
        """None: all are read."""
        return

    @property
    def graph(self) -> Literal["first"]:
        """The graph is wanted once."""
        return "first"
