"""How sure an evaluation has to be when its test set has been looked at before.

A test set that judges one rule after another ends up choosing among them, and the best of many null rules looks good on
it. So the error that is allowed, alpha, is spent over all looks at one test set: two thirds on the first, the rest over
all later ones, ever less on each. Over any number of looks the shares add up to alpha at most. Of fresh test sets every
look is the first.
"""

from __future__ import annotations

import math


def share_of(look: int) -> float:
    """Return the share of alpha that a look at a test set may spend.

    Parameters
    ----------
    look : int
        1 for the first.

    Examples
    --------
    >>> [round(share_of(look), 4) for look in (1, 2, 3, 10)]
    [0.6667, 0.1667, 0.0556, 0.0037]
    """
    return 2 / 3 if look == 1 else 1 / (3 * look * (look - 1))


def confidence_of(look: int, confidence: float) -> float:
    """Return the level of intervals and tests for a look, if all looks together are to keep to `confidence`.

    Examples
    --------
    >>> round(confidence_of(1, 0.95), 4), round(confidence_of(2, 0.95), 4)
    (0.9667, 0.9917)
    """
    return 1 - (1 - confidence) * share_of(look)


def fewest_instances(confidence: float) -> int:
    """Return how many instances a difference needs: with fewer, the exact two-sided test cannot reach the level.

    Examples
    --------
    >>> fewest_instances(0.95), fewest_instances(0.9667), fewest_instances(0.9917)
    (6, 6, 8)
    """
    return math.floor(1 - math.log2(1 - confidence)) + 1
