"""What the grammar draws when it knows nothing: roles, the features of a role, forms and directions, each as likely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from bife_core.features import FEATURES, N_FEATURES, Role
from bife_core.generators.offline.expression import (
    PAIRS,
    SQUASHES,
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

PLAIN: Final = range(N_FEATURES)
"""Features that may be drawn where a caller does not restrict them."""

_PARTS: Final = (2, 3, 4)
"""How many parts a fresh rule may have."""

_PAIRED: Final = 0.3
"""Share of parts that join two features of a role."""


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Return one of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def near(rng: np.random.Generator, value: float, spread: float = 0.25) -> float:
    """Return a number around `value` (log-normal, `spread` in log units) with two digits."""
    return tidy(value * float(np.exp(rng.normal(0.0, spread))))


def roles_of(offered: Sequence[int]) -> tuple[Role, ...]:
    """Return the roles that the offered features have."""
    return tuple(dict.fromkeys(FEATURES[index].group.role for index in offered))


def feature_of(
    rng: np.random.Generator,
    role: Role,
    without: frozenset[int] = frozenset(),
    offered: Sequence[int] = PLAIN,
) -> int:
    """Return an offered feature of `role`, one in `without` only if there is no other."""
    indices = [index for index in offered if role_of_feature(index) == role]
    return pick(rng, [index for index in indices if index not in without] or indices)


def part_of(
    rng: np.random.Generator,
    role: Role,
    without: frozenset[int] = frozenset(),
    offered: Sequence[int] = PLAIN,
) -> Node:
    """Return an unshaped part of `role`: one feature, or two joined."""
    first = feature_of(rng, role, without, offered)
    if rng.random() < _PAIRED:
        second = feature_of(rng, role, without | {first}, offered)
        return paired(rng, Leaf(first), Leaf(second))
    return Leaf(first)


def paired(rng: np.random.Generator, left: Node, right: Node) -> Node:
    """Return two parts as one."""
    kinds: tuple[Kind, ...] = (*PAIRS, "blend")
    kind = pick(rng, kinds)
    numbers = (tidy(float(rng.uniform(0.05, 0.95))),) if kind == "blend" else ()
    return Operation(kind, (left, right), numbers)


def as_factor(rng: np.random.Generator, part: Node) -> Component:
    """Return `part` as a factor: itself or shaped, multiplied or divided by."""
    kinds: tuple[Kind | None, ...] = (None, "bonus", *SQUASHES)
    kind = pick(rng, kinds)
    exponent = near(rng, 1.0, 0.5) * pick(rng, (1.0, -1.0))
    return (part if kind is None else Operation(kind, (part,), (near(rng, 1.0, 0.5),))), exponent


def as_term(rng: np.random.Generator, part: Node) -> Component:
    """Return `part` as a term: squashed, lest its scale drown the others."""
    return Operation(pick(rng, SQUASHES), (part,), (near(rng, 1.0, 0.5),)), near(rng, 1.0, 0.5)


def as_component(rng: np.random.Generator, join: Join, part: Node) -> Component:
    """Return `part` in a shape that suits a product or a sum."""
    return as_term(rng, part) if join == "sum" else as_factor(rng, part)


def sample_rule(rng: np.random.Generator, offered: Sequence[int] = PLAIN) -> Node:
    """Return a rule from the prior: two to four parts of different roles, multiplied or added."""
    roles = roles_of(offered)
    drawn = rng.permutation(len(roles))[: pick(rng, _PARTS)]
    join: Join = pick(rng, ("product", "sum"))
    parts = (part_of(rng, roles[int(role)], offered=offered) for role in drawn)
    chosen = [as_component(rng, join, part) for part in parts]
    return settled(joined(join, *chosen))


def rule_from_features(rng: np.random.Generator, indices: Sequence[int]) -> Node | None:
    """Return a rule over the features that another rule reads, or None when it reads none."""
    by_role: dict[Role, list[int]] = {}
    for index in indices:
        by_role.setdefault(role_of_feature(index), []).append(index)
    chosen: list[Component] = []
    for members in by_role.values():
        part: Node = Leaf(members[0])
        if len(members) > 1:
            part = paired(rng, part, Leaf(pick(rng, members[1:])))
        chosen.append((part, near(rng, 1.0, 0.5)))
    return settled(product(*chosen)) if chosen else None
