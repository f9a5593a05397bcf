"""Seeds that depend on a candidate alone, so neither the order nor the machine of its evaluation matters."""

from __future__ import annotations

import hashlib

import numpy as np


def candidate_id(generation: int, position: int) -> str:
    """Return the id of a candidate: generation and position, such as ``g03-c05``."""
    return f"g{generation:02d}-c{position:02d}"


def candidate_seed(seed: int, candidate: str) -> int:
    """Derive the seed of one candidate from the seed of the search.

    Parameters
    ----------
    seed : int
        Seed of the search, non-negative.
    candidate : str
        Id of the candidate.

    Returns
    -------
    int
        Between 0 and 2**31 - 1, a range every solver and model API accepts; the same on every platform.

    Examples
    --------
    >>> candidate_seed(0, "g00-c00") == candidate_seed(0, "g00-c00")
    True
    >>> candidate_seed(0, "g00-c00") == candidate_seed(0, "g00-c01")
    False
    """
    digest = hashlib.sha256(candidate.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 16, 4)]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint32)[0]) >> 1
