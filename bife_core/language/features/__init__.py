"""The features of a candidate (Khalil et al., 2016): one table from which machine code, C and prompts are derived."""

from __future__ import annotations

from typing import Final

from bife_core.language.features import columns, rows
from bife_core.language.features.feature import (
    SIGNED as SIGNED,
    Feature as Feature,
    Group as Group,
    Role as Role,
)

_PARTS: Final = (columns, rows)

FEATURES: Final[tuple[Feature, ...]] = tuple(
    sorted((feature for part in _PARTS for feature in part.FEATURES), key=lambda feature: feature.index)
)
"""The ordered table: `FEATURES[i]` describes column i of every feature matrix."""

GROUPS: Final = tuple(dict.fromkeys(feature.group for feature in FEATURES))

_BY_NAME: Final = {feature.name: feature.index for feature in FEATURES}


def feature_index(name: str) -> int:
    """Return the column of the feature called `name`, or raise KeyError."""
    return _BY_NAME[name]


def groups_of(indices: frozenset[int] | None) -> frozenset[Group]:
    """Return the groups of the given columns, all for None."""
    return frozenset(GROUPS if indices is None else (FEATURES[index].group for index in indices))


def members_of(group: Group) -> tuple[Feature, ...]:
    """Return a group's features in the order of its formula."""
    return tuple(feature for part in _PARTS for feature in part.FEATURES if feature.group == group)
