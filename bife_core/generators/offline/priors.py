"""What the grammar expects of a good rule: which features play which role, and in what shapes.

The weights are preferences, not limits: every feature of the table can enter a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from bife_core.features import FEATURES, Role, feature_index
from bife_core.generators.offline.expression import (
    Blend,
    Bonus,
    Leaf,
    Node,
    Pair,
    PairKind,
    Squash,
    SquashKind,
    product,
    role_of_feature,
    settled,
    tidy,
    weighted_sum,
)

T = TypeVar("T")

Component = tuple[Node, float]
"""A part of a rule with its exponent (in a product) or weight (in a sum)."""

_UP: Final = Leaf(feature_index("pseudocost_up"))
_DOWN: Final = Leaf(feature_index("pseudocost_down"))
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

_EXTRA_ROLES: Final[tuple[tuple[Role, float], ...]] = (
    ("activity", 3.0),
    ("size", 2.0),
    ("cutoff", 1.5),
    ("objective", 1.5),
    ("share", 1.0),
)


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
    kind = pick(
        rng,
        (
            ("harmonic", 4.0),
            ("geometric", 3.0),
            ("product", 2.0),
            ("min", 2.0),
            ("damped", 1.5),
            ("blend", 1.0),
            ("sum", 0.5),
        ),
    )
    match kind:
        case "geometric":
            return Pair("geometric", _UP, _DOWN)
        case "harmonic":
            return Pair("harmonic", _UP, _DOWN)
        case "product":
            return _GAIN_PRODUCT
        case "blend":
            return Blend(near(rng, 0.17, 0.4), _UP, _DOWN)
        case "damped":
            damping = Bonus(near(rng, 1.0, 0.5), product((_GAIN_SUM, 0.5)))
            return product((Pair("geometric", _UP, _DOWN), 1.0), (damping, -1.0))
        case "min":
            return Pair("min", _UP, _DOWN)
        case _:
            return _GAIN_SUM


def part_of(rng: np.random.Generator, role: Role, without: frozenset[int] = frozenset()) -> Node:
    """Return an unshaped part of `role`: one feature, or two joined."""
    if role == "gain":
        return gain(rng)
    first = feature_of(rng, role, without)
    if role in ("activity", "cutoff") and rng.random() < 0.3:
        second = feature_of(rng, role, without | {first})
        return joined(rng, Leaf(first), Leaf(second))
    return Leaf(first)


def joined(rng: np.random.Generator, left: Node, right: Node) -> Node:
    """Return two parts as one."""
    kinds: tuple[tuple[PairKind, float], ...] = (
        ("geometric", 2.0),
        ("harmonic", 2.0),
        ("min", 1.0),
        ("max", 1.0),
    )
    return Pair(pick(rng, kinds), left, right)


def as_factor(rng: np.random.Generator, role: Role, part: Node) -> Component:
    """Return `part` in a shape that suits a factor of its role."""
    draw = rng.random()
    match role:
        case "fraction":
            if draw < 0.15:
                return Squash("tanh", near(rng, 3.0), part), 1.0
            return part, near(rng, 1.0, 0.4)
        case "gain":
            return (Squash("log1p", near(rng, 1.0, 0.5), part), 1.0) if draw < 0.1 else (part, near(rng, 1.0))
        case "activity":
            if draw < 0.3:
                return Bonus(near(rng, 0.7, 0.7), part), 1.0
            if draw < 0.4:
                return Squash("log1p", near(rng, 1.0, 0.5), part), 1.0
            return part, near(rng, 1.0, 0.5)
        case "cutoff":
            return Bonus(near(rng, 1.0, 0.7), part), 1.0
        case "share":
            return (Bonus(near(rng, 1.0, 0.7), part), 1.0) if draw < 0.5 else (part, near(rng, 0.5, 0.5))
        case "objective" | "size":
            return part, near(rng, 0.5, 0.4) * (1.0 if draw < 0.75 else -1.0)


def as_term(rng: np.random.Generator, role: Role, part: Node) -> Component:
    """Return `part` in a shape that suits a term of its role: squashed, lest its scale drown the others."""
    if role == "fraction":
        return Squash("tanh", near(rng, 3.0), part), near(rng, 2.0, 0.4)
    kinds: tuple[tuple[SquashKind, float], ...] = (("log1p", 3.0), ("saturation", 1.0))
    return Squash(pick(rng, kinds), near(rng, 1.0, 0.5), part), near(rng, 2.0 if role == "gain" else 1.0, 0.5)


def compose(rng: np.random.Generator, roles: Sequence[Role], *, as_sum: bool) -> Node:
    """Return a rule with one component for each of `roles`, joined by a product or a sum."""
    used: frozenset[int] = frozenset()
    chosen: list[Component] = []
    for role in roles:
        part = part_of(rng, role, used)
        chosen.append(as_term(rng, role, part) if as_sum else as_factor(rng, role, part))
        used |= frozenset(leaf.feature for leaf in (part,) if isinstance(leaf, Leaf))
    return settled(weighted_sum(*chosen) if as_sum else product(*chosen))


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
        roles.append(pick(rng, _EXTRA_ROLES))
    return compose(rng, roles, as_sum=rng.random() < 0.2)


def extra_role(rng: np.random.Generator) -> Role:
    """Return the role of a component to add to a rule."""
    return pick(rng, _EXTRA_ROLES)


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
                part = joined(rng, part, Leaf(members[int(rng.integers(1, len(members)))]))
        chosen.append(as_factor(rng, role, part))
    return settled(product(*chosen)) if chosen else None
