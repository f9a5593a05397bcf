"""When a rule is known to lose before all instances are solved (racing; Birattari et al., F-Race, 2002)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy.special import stdtr

from bife_core.wording import counted

ALPHA: Final = 0.05
"""One-sided level at which a rule that is worse so far is given up."""

RACING_BLOCK: Final = 2
"""Instances that are solved before the race is judged again."""

CAP: Final = 4.0
"""In a race a solve is cut short at this many times what the best rule took; it is completed if the rule may win."""

LEAST_CAP_S: Final = 1.0
"""CPU seconds that the best rule counts as at least for `CAP`."""

_SPREAD: Final = 0.15
"""Standard deviation over instances of the logarithm of two rules' ratio that is expected before any is seen."""
_SPREAD_WEIGHT: Final = 2
"""Ratios that this expectation counts as."""


def blocks(positions: Sequence[int], size: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield the instances of a race block by block, in an order that depends on the seed alone.

    Examples
    --------
    >>> sorted(sum(blocks(range(5), 2, seed=0), ()))
    [0, 1, 2, 3, 4]
    """
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(positions))
    for start in range(0, len(order), size):
        yield tuple(positions[place] for place in order[start : start + size])


def lost(
    costs: Sequence[float],
    to_beat: Sequence[float],
    total_to_beat: float,
    alpha: float = ALPHA,
    of: int = 0,
) -> str | None:
    """Return why a rule cannot be expected to beat another any more, as half a sentence, or None.

    It has lost for certain once its positive `costs` so far exceed `total_to_beat`, the other's on all instances of the
    race; and by a paired t-test on the logarithms of the ratios to `to_beat`, the other's on the same instances, once
    it is costlier in the mean, on two instances at least, and the one-sided p-value is below `alpha`. Two ratios alone
    would say little of how much they vary, so the variance is pulled towards that of `_SPREAD`. Solves that were cut
    short count with what they had cost by then: a rule is never eliminated for more than it is known to cost. `of` is
    the number of instances of the race, to be named where more are left.

    Examples
    --------
    >>> lost([9.0], [2.0], 8.0)
    'it took 4.5 times as much as the worst rule kept on 1 instance, more than that one took on all instances'
    >>> lost([1.0, 3.0], [2.0, 2.0], 8.0)
    >>> lost([3.0] * 6, [2.0] * 6, 80.0)
    'it took 1.5 times as much as the worst rule kept on 6 instances, p = 2.6e-06'
    >>> lost([3.0] * 6, [2.0] * 6, 80.0, of=10)
    'it took 1.5 times as much as the worst rule kept on 6 of 10 instances, p = 2.6e-06'
    >>> lost([3.0, 1.02], [2.0, 2.0], 4.0)
    'it took 0.5% more than the worst rule kept on 2 instances'
    """
    own, other = np.asarray(costs), np.asarray(to_beat)
    logarithms = np.log(own / other)
    mean_ratio = float(own.sum() / other.sum())
    percent = f"{mean_ratio - 1:.1%}" if mean_ratio > 1.0005 else "a little"
    more = f"{mean_ratio:.3g} times as much as" if mean_ratio > 1.1 else f"{percent} more than"
    where = f"{len(own)} of {of} instances" if of > len(own) else counted(len(own), "instance")
    said = f"it took {more} the worst rule kept on {where}"
    if own.sum() > max(total_to_beat, other.sum()):
        return f"{said}, more than that one took on all instances" if total_to_beat > other.sum() else said
    if mean_ratio <= 1 or len(own) < 2:
        return None
    freedom = len(own) - 1 + _SPREAD_WEIGHT
    deviations = float(((logarithms - logarithms.mean()) ** 2).sum())
    variance = (deviations + _SPREAD_WEIGHT * _SPREAD**2) / freedom
    p = float(stdtr(freedom, -logarithms.mean() / math.sqrt(variance / len(own))))
    return f"{said}, p = {p:.2g}" if p < alpha else None
