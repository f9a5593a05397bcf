"""Parent selection: rank-based draws from a population whose elites come first (paper, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bife_core.search.types import Sample


def selection_probabilities(size: int, population: int) -> NDArray[np.float64]:
    """Return p(r) proportional to 1 / (r + N) for each rank r, from 0.

    Parameters
    ----------
    size : int
        Rules that may be drawn; more or fewer than N when elites outgrow the population or samples failed.
    population : int
        N of the formula, the configured population size.

    Returns
    -------
    (size,) float64
        Decreasing, summing to 1.

    Examples
    --------
    >>> selection_probabilities(2, population=1).round(2).tolist()
    [0.67, 0.33]
    """
    weights: NDArray[np.float64] = 1.0 / (np.arange(size, dtype=np.float64) + population)
    weights /= weights.sum()
    return weights


def draw_parents(
    ranked: Sequence[Sample],
    count: int,
    *,
    population: int,
    rng: np.random.Generator,
    replacement: bool = False,
) -> tuple[Sample, ...]:
    """Draw `count` parents by rank, each at most once while there are enough, or each anew.

    Without replacement, when fewer rules than parents are alive, all are drawn once before any is drawn again,
    so an operator always receives the number of parents it expects.

    Parameters
    ----------
    ranked : sequence of Sample
        The population, best first (`Population.ranked`).
    population : int
        N of `selection_probabilities`.
    rng : np.random.Generator
        Gives one uniform number per parent.
    replacement : bool
        Whether a rule may be drawn again although others have not been drawn yet.

    Raises
    ------
    ValueError
        If there is nobody to draw.
    """
    if not ranked:
        raise ValueError("There is no rule to draw a parent from.")
    weights = selection_probabilities(len(ranked), population)
    left = weights.copy()
    parents = []
    for _ in range(count):
        if not left.any():
            left = weights.copy()
        # By hand, because `Generator.choice` may change its stream between NumPy versions.
        cumulated = np.cumsum(left)
        drawn = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        if not replacement:
            left[drawn] = 0.0
        parents.append(ranked[drawn])
    return tuple(parents)
