"""Tuning the numbers of rules that the grammar cannot read: in their text, so that all else stays."""

from __future__ import annotations

import numpy as np

from bife_core.generators.offline.priors import near
from bife_core.rules.literals import literals, with_literals


def tune_source(rng: np.random.Generator, source: str) -> str | None:
    """Return `source` with some of its numbers changed, or None when it has none to change."""
    found = literals(source)
    if not found:
        return None
    spread = float(rng.choice([0.12, 0.3, 0.6]))
    chosen = rng.random(len(found)) < 0.6
    chosen[int(rng.integers(len(found)))] = True
    changed = [literal for literal, change in zip(found, chosen, strict=True) if change]
    return with_literals(source, changed, [repr(near(rng, literal.value, spread)) for literal in changed])
