"""The graph network as something to train: nodes as batches, scores of candidates, and the method it becomes."""

from __future__ import annotations

from collections.abc import Sequence

from bife_rivals import gnn_model
from bife_rivals.gnn_model import Weights
from bife_rivals.graphs import Graph, Sample, join
from bife_rivals.networks import GnnMethod
from bife_rivals.weights import as_text


class Gnn:
    """A `Network` without a state of its own."""

    initial = staticmethod(gnn_model.initial)
    fitted = staticmethod(gnn_model.fitted)
    scores = staticmethod(gnn_model.scores)

    @staticmethod
    def batch(samples: Sequence[Sample], size: int) -> Graph:
        """Return nodes as one graph."""
        return join([sample.node for sample in samples], [sample.taken for sample in samples], size)

    @staticmethod
    def method(weights: Weights, name: str) -> GnnMethod:
        """Return the network as a method."""
        return GnnMethod(name=name, weights=as_text(weights))
