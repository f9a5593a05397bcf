"""The groups of features by bits: which of them are computed, and how the static ones are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bife_core.base.errors import SolverError
from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES, GROUPS, Group, groups_of, rows


def bits(groups: Iterable[Group]) -> int:
    """Return the bits of groups."""
    return sum(1 << GROUPS.index(group) for group in groups)


STATIC: Final = bits(group for group in GROUPS if group.cost == "solve")
BY_ROW: Final = bits(group for group in GROUPS if group.cost in ("row", "entry"))
KEPT: Final = bits(group for group in GROUPS if group.cost == "entry")

DEGREE: Final = bits([rows.DEGREE])
RHS_RATIO: Final = bits([rows.RHS_RATIO])
ONE_TO_ALL: Final = bits([rows.ONE_TO_ALL])
ACTIVE_UNIT: Final = bits([rows.UNIT])
ACTIVE_ROW_SUM: Final = bits([rows.ROW_SUM])
ACTIVE_CANDIDATE_SUM: Final = bits([rows.CANDIDATE_SUM])
ACTIVE_DUAL: Final = bits([rows.DUAL])
ACTIVE: Final = ACTIVE_UNIT | ACTIVE_ROW_SUM | ACTIVE_CANDIDATE_SUM | ACTIVE_DUAL

SPREAD: Final = 1 << len(GROUPS)
"""Set if more than the sums of a weighting over active rows is read."""

STATIC_COLUMNS: Final = tuple(feature.index for feature in FEATURES if feature.static)
"""Columns of the static features, in the order of a column's record."""

N_STATIC: Final = len(STATIC_COLUMNS)


def mask_of(features: frozenset[int] | None) -> int:
    """Return the bits of what `extract` computes for features, all for None; raise `SolverError` for an unknown one."""
    if features is not None and not features <= frozenset(range(BRANCHING.n_features)):
        raise SolverError(
            f"Features were expected to be numbers from 0 to {BRANCHING.n_features - 1} and are {set(features)}."
        )
    spread = features is None or any(feature.index in features for feature in rows.COSTLY)
    return bits(groups_of(features)) | (SPREAD if spread else 0)
