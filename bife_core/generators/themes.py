"""Themes of initial prompts: a model without memory that reads one prompt twelve times writes one rule twelve times.

They lie in `prompts/themes.md`, one a line: the roles of the features it needs, a colon and a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources

import numpy as np

from bife_core.features import FEATURES
from bife_core.generators.prompt_context import FeatureRange


@cache
def themes() -> tuple[tuple[frozenset[str], str], ...]:
    """Return all themes: the roles they need, and the sentence."""
    text = (resources.files("bife_core.generators") / "prompts" / "themes.md").read_text(encoding="utf-8")
    pairs = (line.split(": ", 1) for line in text.splitlines())
    return tuple((frozenset(roles.split()), sentence) for roles, sentence in pairs)


def theme(seed: int, number: int, features: Iterable[FeatureRange] = ()) -> str:
    """Return the theme of a search's rule of that number; all are drawn once before any is drawn again.

    A theme is left out where all features of a role that it needs are constant.

    Examples
    --------
    >>> len({theme(7, number) for number in range(len(themes()))}) == len(themes())
    True
    """
    varying = {FEATURES[found.index].group.role for found in features if not found.constant}
    offered = [sentence for roles, sentence in themes() if not varying or roles <= varying]
    rounds, place = divmod(number, len(offered))
    order = np.random.Generator(np.random.PCG64([seed, rounds])).permutation(len(offered))
    return offered[int(order[place])]
