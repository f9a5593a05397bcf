"""Choose the configuration of the next solve by discounted Thompson sampling.

Raj and Kalyani (arXiv 1707.09727), with normal costs of a common variance instead of Bernoulli rewards. Every solve
multiplies the weights of all earlier ones by a discount, so that costs from before a jump in the data are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

DISCOUNT: Final = 0.95
"""Weight of a solve relative to the one after it; the weights sum to 20."""

_PRIOR: Final = 0.5  # weight, in solves, of the mean of all arms in the mean of each


def choose_arm(arms: Sequence[str], costs: Sequence[tuple[str, float]], seed: int) -> tuple[str, str]:
    """Return the next arm and the reason, a clause that follows "since"; `costs` are by arm, oldest first.

    Each arm comes once, in order; then the one of the lowest mean cost, drawn from its posterior. The draw depends on
    the arguments alone; costs of other arms are ignored.
    """
    untried = [arm for arm in arms if all(arm != tried for tried, _ in costs)]
    if untried:
        return untried[0], "it was not tried yet" if costs else "it is the first"
    pulls = [(arm, cost) for arm, cost in costs if arm in arms]
    weights = DISCOUNT ** np.arange(len(pulls) - 1, -1, -1.0)
    values = np.array([cost for _, cost in pulls])
    shares = np.array([[arm == pulled for pulled, _ in pulls] for arm in arms]) * weights  # (arms, solves)
    counts = shares.sum(axis=1)
    means = shares @ values / counts
    # The variance within arms starts at that of all costs: without it a first cost would be certain.
    squares = (shares * (values - means[:, None]) ** 2).sum()
    variance = (squares + values.var()) / (counts.sum() + 1.0)
    centre = (_PRIOR * means.mean() + counts * means) / (_PRIOR + counts)
    # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
    rng = np.random.Generator(np.random.PCG64([seed, len(costs)]))
    drawn = rng.normal(centre, np.sqrt(variance / (_PRIOR + counts)))
    best, lowest = int(np.argmin(drawn)), int(np.argmin(means))
    if best == lowest:
        return arms[best], f"it has the lowest mean cost {means[best]:.3f}"
    return arms[best], f"its mean cost {means[best]:.3f} is not surely above the lowest, {means[lowest]:.3f}"
