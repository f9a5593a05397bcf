"""Which configuration solves the next instance: discounted Thompson sampling.

Raj and Kalyani, "Taming non-stationary bandits: a Bayesian approach" (arXiv 1707.09727): at every solve, the weight of
all solves before is multiplied by a discount, so that costs from before a jump in the data are forgotten. Their
Bernoulli rewards are replaced by costs with normal noise, whose variance all arms share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

DISCOUNT: Final = 0.95
"""Weight of a solve relative to the one after it: 20 solves count in all."""

_PRIOR: Final = 0.5
"""Solves that the mean of all arms counts for, in the mean of each: what is left of an arm that is forgotten."""


def choose_arm(arms: Sequence[str], costs: Sequence[tuple[str, float]], seed: int) -> tuple[str, str]:
    """Return which arm comes next, by the costs of those before, the oldest first, and why, after "since".

    Each arm comes once, in order; then the one whose mean cost, drawn from what is known of it, is lowest. The draw
    depends on the arguments alone; costs of arms that are no longer there are not looked at.
    """
    untried = [arm for arm in arms if all(arm != tried for tried, _ in costs)]
    if untried:
        return untried[0], "it was not tried yet" if costs else "it is the first"
    known = [(arm, cost) for arm, cost in costs if arm in arms]
    weights = DISCOUNT ** np.arange(len(known) - 1, -1, -1.0)
    values = np.array([cost for _, cost in known])
    own = np.array([[arm == each for each, _ in known] for arm in arms]) * weights  # (arms, solves)
    counts = own.sum(axis=1)
    means = own @ values / counts
    # What solves differ by within arms, begun with what all differ by: without it a first cost would be certain.
    squares = (own * (values - means[:, None]) ** 2).sum()
    variance = (squares + values.var()) / (counts.sum() + 1.0)
    centre = (_PRIOR * means.mean() + counts * means) / (_PRIOR + counts)
    # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
    rng = np.random.Generator(np.random.PCG64([seed, len(costs)]))
    drawn = rng.normal(centre, np.sqrt(variance / (_PRIOR + counts)))
    best, lowest = int(np.argmin(drawn)), int(np.argmin(means))
    if best == lowest:
        return arms[best], f"it has the lowest mean cost {means[best]:.3f}"
    return arms[best], f"its mean cost {means[best]:.3f} is not surely above the lowest, {means[lowest]:.3f}"
