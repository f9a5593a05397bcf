"""Seeds that depend on a sample alone, so neither the order nor the machine of its evaluation matters."""

from __future__ import annotations

import hashlib

import numpy as np


def sample_id(generation: int, position: int) -> str:
    """Return the id of a sample: generation and position, such as ``g03-c05``."""
    return f"g{generation:02d}-c{position:02d}"


def sample_seed(seed: int, sample: str) -> int:
    """Derive the seed of one sample from the seed of the search.

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
