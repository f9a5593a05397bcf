"""The features of a candidate: one named table, and beside each group of features the formulas that compute it.

The extractor, the prompt of the language model, the offline grammar, the documentation and the tests all read
this table, so an index means the same thing everywhere. The first 72 are those of Khalil et al. (2016) in the
order the BiFE paper's listings use; who writes rules is offered those alone, or the whole table. The formulas are
plain functions of numbers; `bife_core.scip.compiled` asks SCIP for the numbers and makes machine code of both.
`docs/adding-a-feature.md` tells how to add one.
"""

from __future__ import annotations

from typing import Final, Literal

from bife_core.features import active_rows, candidates, columns, history, nodes, rows, siblings
from bife_core.features.feature import SIGNED, Feature, Group, Role

__all__ = [
    "FEATURES",
    "FEATURE_SETS",
    "GROUPS",
    "N_COLUMNS",
    "N_FEATURES",
    "SIGNED",
    "Feature",
    "FeatureSet",
    "Group",
    "Role",
    "feature_index",
    "feature_set",
    "groups_of",
    "members_of",
    "width_of",
]


def _table(*parts: tuple[Feature, ...]) -> tuple[Feature, ...]:
    table = tuple(sorted((feature for part in parts for feature in part), key=lambda feature: feature.index))
    for index, feature in enumerate(table):
        if feature.index != index:
            raise ValueError(
                f"Feature {feature.name!r} has index {feature.index}, where {index} is due: indices count from 0 "
                "without a gap, and each belongs to one feature."
            )
    return table


_PARTS: Final = (columns, candidates, rows, active_rows, history, nodes, siblings)

FEATURES: Final = _table(*(part.FEATURES for part in _PARTS))
"""The ordered table: `FEATURES[i]` describes column i of every feature matrix."""

N_COLUMNS: Final = len(FEATURES)
"""Width of the matrix that machine code reads."""

N_FEATURES: Final = 72
"""Length of the vector as rules see it: what they say of it as a whole, or by computed indices, is said of the features
of Khalil et al. A feature behind these is read by a constant index alone."""

FeatureSet = Literal["khalil72", "extended"]

FEATURE_SETS: Final[dict[FeatureSet, range]] = {"khalil72": range(N_FEATURES), "extended": range(N_COLUMNS)}
"""What may be offered to who writes rules."""

GROUPS: Final = tuple(dict.fromkeys(feature.group for feature in FEATURES))

_BY_NAME: Final = {feature.name: feature.index for feature in FEATURES}


def feature_index(name: str) -> int:
    """Return the column of the feature called `name`.

    Raises
    ------
    KeyError
        If no feature has that name.

    Examples
    --------
    >>> feature_index("pseudocost_product")
    24
    """
    return _BY_NAME[name]


def groups_of(indices: frozenset[int] | None) -> frozenset[Group]:
    """Return the passes needed to compute the given columns (the first `N_FEATURES` for None)."""
    groups = {FEATURES[index].group for index in (range(N_FEATURES) if indices is None else indices)}
    return frozenset(groups | {group.of.group for group in groups if group.of is not None})


def members_of(group: Group) -> tuple[Feature, ...]:
    """Return a group's features in the order its file lists them, which is that of its formula."""
    return tuple(feature for part in _PARTS for feature in part.FEATURES if feature.group == group)


def feature_set(indices: frozenset[int] | None) -> FeatureSet:
    """Return the smallest set that has all the given features."""
    return "khalil72" if indices is None or max(indices, default=0) < N_FEATURES else "extended"


def width_of(indices: frozenset[int] | None) -> int:
    """Return how many columns a matrix needs for the given features: those of their set."""
    return len(FEATURE_SETS[feature_set(indices)])
