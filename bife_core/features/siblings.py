"""Features relative to those of all candidates of the node, which a score of one candidate cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bife_core.features import active_rows, candidates, columns, history
from bife_core.features.feature import Feature, Group

_COMPARED: Final = (
    (105, "pseudocost_product"),
    (107, "slack"),
    (109, "inference_score"),
    (111, "conflict_score"),
    (113, "active_coef_weight4_sum"),
    (115, "n_rows"),
)
"""First index and feature; none of them is ever negative."""

_BY_NAME: Final = {
    feature.name: feature for part in (columns, candidates, active_rows, history) for feature in part.FEATURES
}


def _compared(first: int, compared: Feature) -> Iterator[Feature]:
    name = compared.name
    group = Group(f"relative_{name}", cost="siblings", role=compared.group.role, of=compared)
    yield from group.features(
        (first, f"{name}_of_max", f"{name} over its largest value among the candidates of the node"),
        (first + 1, f"{name}_rank", f"share of the node's other candidates whose {name} is smaller"),
    )


FEATURES: Final = tuple(feature for first, name in _COMPARED for feature in _compared(first, _BY_NAME[name]))


def relative(value: float, largest: float, smaller: int, others: int) -> tuple[float, ...]:
    """Compute a group of `FEATURES` from the largest value, and from how many of the others are smaller."""
    return value / largest if largest > 0.0 else 0.0, smaller / others if others != 0 else 0.0
