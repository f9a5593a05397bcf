"""Decisions made by hand, and those of an expert whose formula is known."""

import dataclasses

import numpy as np

from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES, GROUPS, groups_of
from bife_core.measure.decisions.recorded import Decisions
from bife_core.search.symbolic.fitting import Columns


def decisions_of(sizes, scores, *, feature=None, instance="a", **arrays):
    """Return decisions with that many candidates each, whose first feature is `feature`; the rest is zero."""
    rows, n = sum(sizes), len(sizes)
    columns = np.zeros((BRANCHING.n_features, rows))
    if feature is not None:
        columns[0] = feature
    default = {"columns": columns, "gains": np.zeros((2, rows)), "probindex": np.zeros(rows, dtype=np.int32)}
    default |= {"node": np.zeros(n, dtype=np.int64), "depth": np.zeros(n, dtype=np.int64)}
    default |= {"room": np.full(n, 1e20), "scores": np.array(scores, dtype=np.float64)}
    default |= {"offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)}
    given = {name: np.asarray(value) for name, value in arrays.items()}
    return Decisions(instance=(instance,) * n, **default | given)


def planted(count, expert, *, doubt=0.0, seed=0, candidates=12):
    """Return decisions of an expert that scores by a formula, times noise of `doubt` in log units.

    Groups of features differ in scale; features are zero now and then, and never below what they may be.
    """
    rng = np.random.default_rng(seed)
    rows = count * candidates
    scales = {group.name: rng.normal(0.0, 2.0) for group in GROUPS if group in groups_of(None)}
    scale = np.array([[scales[feature.group.name]] for feature in FEATURES[: BRANCHING.n_features]])
    columns = np.exp(rng.normal(0.0, 1.0, (BRANCHING.n_features, rows)) + scale)
    columns[rng.random((BRANCHING.n_features, rows)) < 0.1] = 0.0
    for feature in FEATURES[: BRANCHING.n_features]:
        if feature.low == -1.0:
            columns[feature.index] = rng.uniform(-1.0, 1.0, rows)
        elif feature.low < 0.0:
            columns[feature.index] *= rng.choice([-1.0, 1.0], rows)
    probindex = np.tile(np.arange(candidates, dtype=np.int32), count)
    blank = decisions_of([candidates] * count, np.zeros(rows), columns=columns, probindex=probindex)
    scores = Columns(blank).value(expert) * np.exp(doubt * rng.normal(size=rows))
    instances = tuple(f"model-{number // 10}" for number in range(count))
    return dataclasses.replace(blank, scores=scores, instance=instances)
