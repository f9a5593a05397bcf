"""Decisions of an expert whose formula is known."""

from __future__ import annotations

import numpy as np

from bife_core.decisions.recorded import Decisions
from bife_core.features import FEATURES, GROUPS, N_FEATURES, groups_of
from bife_core.generators.offline.expression import Node
from bife_core.symbolic.columns import Columns


def planted(
    count: int, expert: Node, *, doubt: float = 0.0, seed: int = 0, candidates: int = 12
) -> Decisions:
    """Return decisions of an expert that scores by a formula, times noise of `doubt` in log units.

    Groups of features differ in scale; features are zero now and then, and never below what they may be.
    """
    rng = np.random.default_rng(seed)
    rows = count * candidates
    scales = {group.name: rng.normal(0.0, 2.0) for group in GROUPS if group in groups_of(None)}
    scale = np.array([[scales[feature.group.name]] for feature in FEATURES[:N_FEATURES]])
    columns = np.exp(rng.normal(0.0, 1.0, (N_FEATURES, rows)) + scale)
    columns[rng.random((N_FEATURES, rows)) < 0.1] = 0.0
    for feature in FEATURES[:N_FEATURES]:
        if feature.low == -1.0:
            columns[feature.index] = rng.uniform(-1.0, 1.0, rows)
        elif feature.low < 0.0:
            columns[feature.index] *= rng.choice([-1.0, 1.0], rows)
    given = {
        "columns": columns,
        "gains": np.zeros((2, rows)),
        "offsets": np.arange(0, rows + 1, candidates),
        "probindex": np.tile(np.arange(candidates, dtype=np.int32), count),
        "node": np.ones(count, dtype=np.int64),
        "depth": np.zeros(count, dtype=np.int64),
        "room": np.full(count, 1e20),
        "instance": tuple(f"model-{number // 10}" for number in range(count)),
    }
    blank = Decisions(**given, scores=np.zeros(rows))
    scores = Columns(blank).value(expert) * np.exp(doubt * rng.normal(size=rows))
    return Decisions(**given, scores=scores)
