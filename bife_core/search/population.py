"""Populations: orders of samples, the threshold tau, survival, draws of parents (paper, Algorithm 1)."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from operator import eq

import numpy as np
from numpy.typing import NDArray

from bife_core.search.config import SearchConfig
from bife_core.search.types import Sample


def _by(fidelity: str, samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Return the valid samples that have a fidelity, highest first; the one sampled earlier wins a tie."""
    measured = [rule for rule in samples if rule.valid and getattr(rule, fidelity) is not None]
    # Length before text, so that c100 comes after c99.
    return tuple(
        sorted(measured, key=lambda rule: (-getattr(rule, fidelity), rule.generation, len(rule.id), rule.id))
    )


by_low_fidelity = partial(_by, "f_lf")
by_high_fidelity = partial(_by, "f_hf")


def ranked(samples: Iterable[Sample]) -> list[Sample]:
    """Return all samples by F_HF, then by F_LF, best first; those without come last."""

    def key(sample: Sample) -> tuple[float, ...]:
        return tuple(math.inf if value is None else -value for value in (sample.f_hf, sample.f_lf))

    return sorted(samples, key=key)


def niche_by_niche(ranked: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the first rule of each niche, then the second of each, and so on; None is a niche too."""
    had: defaultdict[int | None, Iterator[int]] = defaultdict(count)
    return tuple(sorted(ranked, key=lambda rule: next(had[rule.niche])))


def likeness(rule: Sample, other: Sample) -> float | None:
    """Return the share of recorded decisions in which two rules choose the same candidate; None where it is unknown."""
    if not rule.behaviour or not other.behaviour:
        return None
    return math.fsum(map(eq, rule.behaviour, other.behaviour)) / len(rule.behaviour)


def founders(config: SearchConfig) -> int:
    """Return ceil(alpha N), the number of rules that found the elite set."""
    return _count(config.elite_fraction, config.population)


def _count(share: float, of: int) -> int:
    # 0.28 * 25 is 7.000000000000001 in floating point; without rounding its ceiling would be 8.
    return max(1, math.ceil(round(share * of, 9)))


def threshold(
    elites: Sequence[Sample], samples: Iterable[Sample], config: SearchConfig, of: int | None = None
) -> float | None:
    """Return tau, the F_LF that earns solves, from the elites, best F_HF first; None while there is none.

    The paper's tau only rises where all elites are kept, so that one rule that imitates well and solves badly could end
    all admission; `threshold_share` of the valid samples, or of so many as `of` says, prevents it.
    """
    of_elites = [elite.f_lf for elite in elites if elite.f_lf is not None]
    if not of_elites:
        return None
    tau, share = of_elites[-1], config.threshold_share
    if share is None:
        return tau
    reached = [sample.f_lf for sample in by_low_fidelity(samples) if sample.f_lf is not None]
    best = _count(share, len(reached) if of is None else of)
    return min(tau, reached[min(best, len(reached)) - 1])


def reaches(sample: Sample, tau: float | None) -> bool:
    """Return whether the F_LF of a sample earns it solves; nothing does while there is no tau."""
    return tau is not None and sample.valid and sample.f_lf is not None and sample.f_lf >= tau


def survivors(
    elites: Sequence[Sample], newcomers: Sequence[Sample], config: SearchConfig
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Return the elites old and new, best F_HF first, and the best newcomers by F_LF in the places of N left.

    With `elite_cap` the elites of worst F_HF lose their rank, and may fill a place that is left like all others.
    """
    kept = by_high_fidelity((*elites, *newcomers))[: config.elite_cap]
    names = {elite.id for elite in kept}
    others = by_low_fidelity(sample for sample in newcomers if sample.id not in names)
    return kept, others[: max(0, config.population - len(kept))]


def sample_id(generation: int, position: int) -> str:
    """Return the id of a sample: generation and position, such as ``g03-c05``."""
    return f"g{generation:02d}-c{position:02d}"


def sample_seed(seed: int, sample: str) -> int:
    """Derive the seed of one sample, in 0 to 2**31 - 1, from that of the search and the sample's id."""
    digest = hashlib.sha256(sample.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 16, 4)]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint32)[0]) >> 1


def selection_probabilities(size: int, population: int) -> NDArray[np.float64]:
    """Return p(r) proportional to 1 / (r + N) for each of so many ranks r, from 0."""
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
    unlike: float = 1.0,
) -> tuple[Sample, ...]:
    """Draw `count` parents by rank, best first, with one uniform number each.

    Without replacement all are drawn once before any is drawn again. After the first they are drawn from the share
    `unlike` of the rules that choose least like it. `population` is N of `selection_probabilities`.
    """
    weights = selection_probabilities(len(ranked), population)
    left = weights.copy()
    parents: list[Sample] = []
    for _ in range(count):
        if not left.any():
            left = weights.copy()
        offered = left
        if unlike < 1.0 and parents:
            others = [rule for rule in ranked if rule is not parents[0]]
            others.sort(key=lambda rule: likeness(rule, parents[0]) or 0.0)
            kept = {rule.id for rule in others[: math.ceil(unlike * len(others))]}
            offered = np.where([rule.id in kept for rule in ranked], left, 0.0)
        # By hand, because `Generator.choice` may change its stream between NumPy versions.
        cumulated = np.cumsum(offered if offered.any() else left)
        drawn = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        if not replacement:
            left[drawn] = 0.0
        parents.append(ranked[drawn])
    return tuple(parents)
