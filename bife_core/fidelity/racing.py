"""When a rule is known to lose before all instances are solved (racing; Birattari et al., F-Race, 2002)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np

from bife_core.stats import ratio, signed_rank_test

ALPHA: Final = 0.05
"""One-sided level at which a rule that is worse so far is given up."""

_LEAST: Final = 1e-9


def heats(positions: Sequence[int], size: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield the instances of a race, so many at a time, in an order that depends on the seed alone.

    Examples
    --------
    >>> sorted(sum(heats(range(5), 2, seed=0), ()))
    [0, 1, 2, 3, 4]
    """
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(positions))
    for start in range(0, len(order), size):
        yield tuple(positions[place] for place in order[start : start + size])


def lost(
    costs: Sequence[float],
    to_beat: Sequence[float],
    total_to_beat: float,
    mean: Literal["arithmetic", "geometric"],
    alpha: float = ALPHA,
) -> str | None:
    """Return why a rule cannot be expected to beat another any more, as half a sentence, or None.

    It has lost for certain once its costs so far exceed all of the other's; and by the exact paired test once it is
    dearer in the mean and the one-sided p-value is below `alpha`. Costs of solves that were cut short count with what
    they had cost by then, so that a rule is never given up for more than it is known to cost.

    Parameters
    ----------
    costs, to_beat : sequence of float
        Costs of the rule, and of the one it has to beat, on the instances solved so far.
    total_to_beat : float
        Sum of the other's costs on all instances of the race.
    alpha : float
        One-sided level of the test.

    Examples
    --------
    >>> lost([9.0], [2.0], 8.0, "arithmetic")
    'it took 4.5 times as much on 1 instance, more than the other on all of them'
    >>> lost([1.0, 3.0], [2.0, 2.0], 8.0, "arithmetic")
    >>> lost([3.0] * 6, [2.0] * 6, 80.0, "arithmetic")
    'it took 1.5 times as much on 6 instances, p = 0.016'
    """
    own = [max(cost, _LEAST) for cost in costs]
    other = [max(cost, _LEAST) for cost in to_beat]
    times = math.fsum(own) / math.fsum(other) if mean == "arithmetic" else ratio(own, other)
    counted = "1 instance" if len(own) == 1 else f"{len(own)} instances"
    said = f"it took {times:.3g} times as much on {counted}"
    if mean == "arithmetic" and math.fsum(own) > max(total_to_beat, math.fsum(other)):
        return f"{said}, more than the other on all of them"
    one_sided = signed_rank_test(own, other) / 2
    return f"{said}, p = {one_sided:.2g}" if times > 1 and one_sided < alpha else None
