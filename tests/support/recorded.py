"""Decisions made by hand: what a test does not say is zero, and no child is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bife_core.decisions.recorded import Decisions
from bife_core.features import N_FEATURES


def decisions_of(
    sizes: Sequence[int],
    scores: ArrayLike,
    *,
    feature: ArrayLike | None = None,
    instance: str = "a",
    **arrays: Any,
) -> Decisions:
    """Return decisions with that many candidates each, whose first feature is `feature`."""
    rows, n = sum(sizes), len(sizes)
    columns = np.zeros((N_FEATURES, rows))
    if feature is not None:
        columns[0] = feature
    default: dict[str, Any] = {
        "columns": columns,
        "gains": np.zeros((2, rows)),
        "probindex": np.zeros(rows, dtype=np.int32),
        "node": np.zeros(n, dtype=np.int64),
        "depth": np.zeros(n, dtype=np.int64),
        "room": np.full(n, 1e20),
    }
    return Decisions(
        scores=np.array(scores, dtype=np.float64),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        instance=(instance,) * n,
        **default | {name: np.asarray(value) for name, value in arrays.items()},
    )
