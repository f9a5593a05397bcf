"""What the grammar expects of a good rule: which features play which role, and in what shapes.

The weights are preferences, not limits: every feature of the table can enter a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from bife_core.features import FEATURES, Role, feature_index
from bife_core.generators.offline.expression import (
    Join,
    Kind,
    Leaf,
    Node,
    Operation,
    joined,
    product,
    role_of_feature,
    settled,
    tidy,
)

T = TypeVar("T")

Component = tuple[Node, float]
"""A part of a rule with its exponent (in a product) or weight (in a sum)."""

_GAINS: Final = (Leaf(feature_index("pseudocost_up")), Leaf(feature_index("pseudocost_down")))
_GAIN_SUM: Final = Leaf(feature_index("pseudocost_sum"))
_GAIN_PRODUCT: Final = Leaf(feature_index("pseudocost_product"))

_PREFERRED: Final[dict[str, float]] = {
    "slack": 10.0,
    "ceil_dist": 0.5,
    "obj_coef": 3.0,
    "n_rows": 3.0,
    "rows_dynamic_deg_mean": 1.0,
    "rows_dynamic_deg_max": 1.0,
    "rows_dynamic_deg_mean_ratio": 2.0,
    "pos_coef_pos_coef_ratio_max": 1.0,
    "coef_pos_rhs_ratio_max": 2.0,
    "active_coef_weight1_count": 6.0,
    "active_coef_weight1_sum": 3.0,
    "active_coef_weight2_count": 4.0,
    "active_coef_weight2_sum": 4.0,
    "active_coef_weight3_count": 6.0,
    "active_coef_weight3_sum": 6.0,
    "active_coef_weight4_count": 4.0,
    "active_coef_weight4_sum": 5.0,
    "n_cutoff_up_ratio": 2.0,
    "n_cutoff_down_ratio": 2.0,
}
"""Weight of a feature among those of its role; the others have `_ORDINARY`."""

_ORDINARY: Final = 0.2

EXTRA_ROLES: Final[tuple[tuple[Role, float], ...]] = (
    ("activity", 3.0),
    ("size", 2.0),
    ("cutoff", 1.5),
    ("objective", 1.5),
    ("share", 1.0),
)
"""Roles of what is added to a rule, with their weights."""


def pick(rng: np.random.Generator, options: Sequence[tuple[T, float]]) -> T:
    """Return one of the options, drawn with the weights that stand beside them."""
    weights = np.array([weight for _, weight in options])
    return options[int(rng.choice(len(options), p=weights / weights.sum()))][0]


def near(rng: np.random.Generator, value: float, spread: float = 0.25) -> float:
    """Return a number around `value` (log-normal, `spread` in log units) with two digits."""
    return tidy(value * float(np.exp(rng.normal(0.0, spread))))


def feature_of(rng: np.random.Generator, role: Role, without: frozenset[int] = frozenset()) -> int:
    """Return a feature of `role`, preferred ones more often, one in `without` only if there is no other."""
    indices = [feature.index for feature in FEATURES if role_of_feature(feature.index) == role]
    fresh = [index for index in indices if index not in without] or indices
    return pick(rng, [(index, _PREFERRED.get(FEATURES[index].name, _ORDINARY)) for index in fresh])


def gain(rng: np.random.Generator) -> Node:
    """Return a way to join the estimated gains of the two children."""
    ways = (
        ("harmonic", 4.0),
        ("geometric", 3.0),
        ("product", 2.0),
        ("min", 2.0),
        ("damped", 1.5),
        ("blend", 1.0),
        ("sum", 0.5),
    )
    match pick(rng, ways):
        case "harmonic" | "geometric" | "min" as kind:
            return Operation(kind, _GAINS)
        case "product":
            return _GAIN_PRODUCT
        case "damped":
            damping = Operation("bonus", (product((_GAIN_SUM, 0.5)),), (near(rng, 1.0, 0.5),))
            return product((Operation("geometric", _GAINS), 1.0), (damping, -1.0))
        case "blend":
            return Operation("blend", _GAINS, (near(rng, 0.17, 0.4),))
        case _:
            return _GAIN_SUM


def part_of(rng: np.random.Generator, role: Role, without: frozenset[int] = frozenset()) -> Node:
    """Return an unshaped part of `role`: one feature, or two joined."""
    if role == "gain":
        return gain(rng)
    first = feature_of(rng, role, without)
    if role in ("activity", "cutoff") and rng.random() < 0.3:
        second = feature_of(rng, role, without | {first})
        return paired(rng, Leaf(first), Leaf(second))
    return Leaf(first)


def paired(rng: np.random.Generator, left: Node, right: Node) -> Node:
    """Return two parts as one."""
    kinds: tuple[tuple[Kind, float], ...] = (
        ("geometric", 2.0),
        ("harmonic", 2.0),
        ("min", 1.0),
        ("max", 1.0),
    )
    return Operation(pick(rng, kinds), (left, right))


_FACTORS: Final[dict[Role, tuple[tuple[float, Kind | None, float, float], ...]]] = {
    "fraction": ((0.15, "tanh", 3.0, 0.25), (1.0, None, 1.0, 0.4)),
    "gain": ((0.1, "log1p", 1.0, 0.5), (1.0, None, 1.0, 0.25)),
    "activity": ((0.3, "bonus", 0.7, 0.7), (0.4, "log1p", 1.0, 0.5), (1.0, None, 1.0, 0.5)),
    "cutoff": ((1.0, "bonus", 1.0, 0.7),),
    "share": ((0.5, "bonus", 1.0, 0.7), (1.0, None, 0.5, 0.5)),
    "objective": ((0.75, None, 0.5, 0.4), (1.0, None, -0.5, 0.4)),
    "size": ((0.75, None, 0.5, 0.4), (1.0, None, -0.5, 0.4)),
}
"""Shapes of a factor by its role: cumulative probability, operation (None is a power), its number and the spread."""


def as_factor(rng: np.random.Generator, role: Role, part: Node) -> Component:
    """Return `part` in a shape that suits a factor of its role."""
    draw = rng.random()
    _, kind, centre, spread = next(shape for shape in _FACTORS[role] if draw < shape[0])
    number = near(rng, centre, spread)
    return (part, number) if kind is None else (Operation(kind, (part,), (number,)), 1.0)


def as_term(rng: np.random.Generator, role: Role, part: Node) -> Component:
    """Return `part` in a shape that suits a term of its role: squashed, lest its scale drown the others."""
    if role == "fraction":
        return Operation("tanh", (part,), (near(rng, 3.0),)), near(rng, 2.0, 0.4)
    kinds: tuple[tuple[Kind, float], ...] = (("log1p", 3.0), ("saturation", 1.0))
    squashed = Operation(pick(rng, kinds), (part,), (near(rng, 1.0, 0.5),))
    return squashed, near(rng, 2.0 if role == "gain" else 1.0, 0.5)


def as_component(rng: np.random.Generator, join: Join, role: Role, part: Node) -> Component:
    """Return `part` in a shape that suits its role in a product or a sum."""
    return as_term(rng, role, part) if join == "sum" else as_factor(rng, role, part)


def sample_rule(rng: np.random.Generator) -> Node:
    """Return a rule from the prior: mostly fractionality times gain times activity, give or take a part."""
    roles: list[Role] = ["fraction", "gain", "activity"]
    draw = rng.random()
    if draw < 0.12:
        roles.remove("fraction")
    elif draw < 0.20:
        roles.remove("gain")
    elif draw < 0.28:
        roles.remove("activity")
    if rng.random() < 0.4:
        roles.append(pick(rng, EXTRA_ROLES))
    join: Join = "sum" if rng.random() < 0.2 else "product"
    used: frozenset[int] = frozenset()
    chosen: list[Component] = []
    for role in roles:
        part = part_of(rng, role, used)
        chosen.append(as_component(rng, join, role, part))
        if isinstance(part, Leaf):
            used |= {part.feature}
    return settled(joined(join, *chosen))


def rule_from_features(rng: np.random.Generator, indices: Sequence[int]) -> Node | None:
    """Return a rule over the features that another rule reads, or None when it reads none."""
    by_role: dict[Role, list[int]] = {}
    for index in indices:
        by_role.setdefault(role_of_feature(index), []).append(index)
    chosen: list[Component] = []
    for role, members in by_role.items():
        if role == "gain" and len(members) > 1:
            part = gain(rng)
        else:
            part = Leaf(members[0])
            if len(members) > 1:
                part = paired(rng, part, Leaf(members[int(rng.integers(1, len(members)))]))
        chosen.append(as_factor(rng, role, part))
    return settled(product(*chosen)) if chosen else None
