"""A scorer with two weights: of the gains expected of the two children, the smaller counts more."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from bife_core import Scorer
from bife_core.extend import feature_index

DOWN, UP = feature_index("pseudocost_down"), feature_index("pseudocost_up")


class LargestGain(Scorer):
    kind: Literal["largest_gain"] = "largest_gain"
    smaller: float = 5.0
    larger: float = 1.0

    @property
    def features(self) -> frozenset[int]:
        return frozenset({DOWN, UP})

    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        gains = X[:, [DOWN, UP]]
        return self.smaller * gains.min(axis=1) + self.larger * gains.max(axis=1)
