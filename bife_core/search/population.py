"""The population as a value: elites first, the threshold tau, admission and survival (paper, Algorithm 1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from bife_core.search.config import SearchConfig
from bife_core.search.types import Sample


def _sampling_order(sample: Sample) -> tuple[int, int, str]:
    # Length before text, so that c100 comes after c99.
    return sample.generation, len(sample.id), sample.id


def _descending(value: float | None) -> float:
    return math.inf if value is None else -value


def by_low_fidelity(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Return the valid samples that have an F_LF, highest first; the one sampled earlier wins a tie."""
    scored = (sample for sample in samples if sample.valid and sample.f_lf is not None)
    return tuple(sorted(scored, key=lambda rule: (_descending(rule.f_lf), _sampling_order(rule))))


def by_high_fidelity(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Return the valid samples that were solved with, highest F_HF first; ties as in `by_low_fidelity`."""
    solved = (sample for sample in samples if sample.valid and sample.f_hf is not None)
    return tuple(sorted(solved, key=lambda rule: (_descending(rule.f_hf), _sampling_order(rule))))


def niche_by_niche(ranked: Iterable[Sample]) -> tuple[Sample, ...]:
    """Return the rules with the first of each niche before all others, then the second of each, and so on.

    Rules without a niche are a niche of their own.
    """
    had: Counter[int | None] = Counter()
    placed = []
    for rule in ranked:
        placed.append((had[rule.niche], rule))
        had[rule.niche] += 1
    return tuple(rule for _, rule in sorted(placed, key=itemgetter(0)))


def founders(config: SearchConfig) -> int:
    """Return ceil(alpha N), the number of rules that found the elite set.

    Examples
    --------
    >>> founders(SearchConfig(population=25, elite_fraction=0.28))
    7
    """
    return _count(config.elite_fraction, config.population)


def _count(share: float, of: int) -> int:
    # 0.28 * 25 is 7.000000000000001 in floating point; without rounding its ceiling would be 8.
    return max(1, math.ceil(round(share * of, 9)))


def threshold(
    elites: Sequence[Sample], samples: Iterable[Sample], config: SearchConfig, of: int | None = None
) -> float | None:
    """Return tau, the F_LF that earns solves; None while there is no elite.

    Where all elites are kept, the paper's tau can only rise, for every elite has reached it. One rule
    that agrees often with strong branching and solves badly can so end all admission; `threshold_share` prevents it.

    Parameters
    ----------
    elites : sequence of Sample
        The elite set, best F_HF first.
    samples : iterable of Sample
        All samples so far, the elites among them; only valid ones count.
    config : SearchConfig
        Gives `threshold_share`.
    of : int, optional
        Number of samples that the share is of; by default those given.
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


@dataclass(frozen=True, slots=True)
class Population:
    """The rules alive after a generation.

    Attributes
    ----------
    elites : tuple of Sample
        Rules with an F_HF, best F_HF first.
    others : tuple of Sample
        The general population, best F_LF first.
    """

    elites: tuple[Sample, ...] = ()
    others: tuple[Sample, ...] = ()

    @property
    def ranked(self) -> tuple[Sample, ...]:
        """All rules alive in the order parents are drawn by: elites by F_HF, then the others by F_LF."""
        return self.elites + self.others

    def succeeded_by(self, newcomers: Iterable[Sample], config: SearchConfig) -> Population:
        """Return the next population: elites old and new, and the best of the others in the places left.

        With `elite_cap` the elites of worst F_HF lose their rank; they may still fill a place that is left,
        on the same terms as all others. Without it the elites alone may outnumber N.

        Parameters
        ----------
        newcomers : iterable of Sample
            All samples of the generation, with the F_HF of those that were solved with.
        config : SearchConfig
            Gives N (`population`) and `elite_cap`.
        """
        newcomers = tuple(newcomers)
        elites = by_high_fidelity(self.elites + newcomers)[: config.elite_cap]
        kept = {elite.id for elite in elites}
        others = by_low_fidelity(sample for sample in newcomers if sample.id not in kept)
        return Population(elites, others[: max(0, config.population - len(elites))])
