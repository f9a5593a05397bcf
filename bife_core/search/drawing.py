"""Draws of a search: a seed for each sample, and parents by rank (paper, section 4.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bife_core.search.types import Sample


def sample_id(generation: int, position: int) -> str:
    """Return the id of a sample: generation and position, such as ``g03-c05``."""
    return f"g{generation:02d}-c{position:02d}"


def sample_seed(seed: int, sample: str) -> int:
    """Derive the seed of one sample from the seed of the search, whatever the order and the machine of its evaluation.

    Parameters
    ----------
    seed : int
        Seed of the search, non-negative.
    sample : str
        Id of the sample.

    Returns
    -------
    int
        Between 0 and 2**31 - 1, a range every solver and model API accepts; the same on every platform.

    Examples
    --------
    >>> sample_seed(0, "g00-c00") == sample_seed(0, "g00-c00")
    True
    >>> sample_seed(0, "g00-c00") == sample_seed(0, "g00-c01")
    False
    """
    digest = hashlib.sha256(sample.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 16, 4)]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint32)[0]) >> 1


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
        If there is no rule to draw.
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
