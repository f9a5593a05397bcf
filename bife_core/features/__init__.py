"""The features of a candidate: one named table, and beside each group of features the formulas that compute it.

The extractor, the prompt of the language model, the offline grammar, the documentation and the tests all read
this table, so an index means the same thing everywhere. The first 72 are those of Khalil et al. (2016) in the
order the BiFE paper's listings use. The formulas are plain functions of numbers; `bife_core.scip.compiled` asks
SCIP for the numbers and makes machine code of both. `docs/adding-a-feature.md` tells how to add one.
"""

from __future__ import annotations

from typing import Final

from bife_core.features import active_rows, candidates, columns, rows
from bife_core.features.feature import SIGNED, Feature, Group, Role

__all__ = [
    "FEATURES",
    "GROUPS",
    "N_FEATURES",
    "SIGNED",
    "Feature",
    "Group",
    "Role",
    "feature_index",
    "groups_of",
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


FEATURES: Final = _table(columns.FEATURES, candidates.FEATURES, rows.FEATURES, active_rows.FEATURES)
"""The ordered table: `FEATURES[i]` describes column i of every feature matrix."""

N_FEATURES: Final = len(FEATURES)

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
    """Return the passes needed to compute the given columns (all passes for None)."""
    return frozenset(GROUPS if indices is None else (FEATURES[index].group for index in indices))
