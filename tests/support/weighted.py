"""A linear scorer: a kind of method that tests add by ``monkeypatch.setitem(METHODS, KIND, Weighted)``."""

from __future__ import annotations

import numpy as np
from pydantic import FiniteFloat

from bife_core.language.features import feature_index
from bife_core.solver.methods.scorer import Scorer

KIND = "weighted"


class Weighted(Scorer):
    """The weighted sum of some features, called from Python."""

    kind: str = KIND
    weights: dict[str, FiniteFloat]

    @property
    def features(self):
        return frozenset(map(feature_index, self.weights))

    def score(self, X):
        return sum(
            (weight * X[:, feature_index(name)] for name, weight in self.weights.items()), np.zeros(len(X))
        )
