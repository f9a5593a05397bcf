"""The five operators on syntax trees, each with a sentence that says truly what was made of what."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from bife_core.features import Role
from bife_core.generators.offline.expression import (
    PAIRS,
    SQUASHES,
    CancelledError,
    Join,
    Kind,
    Leaf,
    Node,
    Operation,
    components,
    join_of,
    joined,
    leaves,
    product,
    replaced,
    role,
    role_of_feature,
    settled,
    skeleton,
    walk,
    weighted_sum,
    with_numbers,
)
from bife_core.generators.offline.priors import (
    PLAIN,
    Component,
    as_component,
    as_factor,
    as_term,
    feature_of,
    near,
    paired,
    part_of,
    pick,
    roles_of,
    sample_rule,
)
from bife_core.generators.offline.writer import describe

_TRIES: Final = 24
MOST_COMPONENTS: Final = 5
"""Parts of a rule at most, unless more are asked for."""

_SHAPES: Final[tuple[Kind, ...]] = (*SQUASHES, "bonus")
_FRESH: Final = 4
"""Rules e1 chooses from: more would be stranger still, and stranger rules are rarely good ones."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tree with a clause on how it came about."""

    root: Node
    origin: str

    @property
    def thought(self) -> str:
        """One sentence: where the rule comes from and what it computes."""
        return f"{self.origin}: {describe(self.root)}."


def initialise(rng: np.random.Generator, offered: Sequence[int] = PLAIN) -> Proposal:
    """Operator i1: a rule from the prior."""
    return Proposal(sample_rule(rng, offered), "Drawn from the grammar")


def explore(rng: np.random.Generator, parents: tuple[Node, ...], offered: Sequence[int] = PLAIN) -> Proposal:
    """Operator e1: of several fresh rules the one least like all parents in features and in form."""
    drawn = [sample_rule(rng, offered) for _ in range(_FRESH)]
    chosen = max(drawn, key=lambda rule: min(distance(rule, parent) for parent in parents))
    return Proposal(chosen, "Drawn to be unlike the parents")


def distance(one: Node, other: Node) -> float:
    """Return how unlike two rules are: shares of features and of kinds of parts that they do not share."""
    features = set(leaves(one)), set(leaves(other))
    kinds = tuple(
        {"leaf" if isinstance(part, Leaf) else part.kind for part in walk(rule)} for rule in (one, other)
    )
    return sum(1.0 - len(a & b) / len(a | b) for a, b in (features, kinds))


def recombine(
    rng: np.random.Generator,
    parents: tuple[Node, ...],
    offered: Sequence[int] = PLAIN,
    most: int = MOST_COMPONENTS,
) -> Proposal:
    """Operator e2: keeps what the parents share and takes the rest from one or the other.

    Components meet by role (gain, fractionality, activity, ...). A role that several parents fill is kept, in
    the form of one of them, with numbers between theirs where the forms are the same; a role that only one
    fills is kept more often than not.
    """
    groups = [_by_role(parent) for parent in parents]
    roles = list(dict.fromkeys(name for group in groups for name in group))
    for _ in range(_TRIES):
        join = join_of(parents[int(rng.integers(len(parents)))])
        chosen: list[Component] = []
        for name in roles:
            having = [i for i, group in enumerate(groups) if name in group]
            if len(having) == 1 < len(parents) and rng.random() < 0.3:
                continue
            i = having[int(rng.integers(len(having)))]
            taken = groups[i][name]
            if join_of(parents[i]) == join:
                met = [component for j in having for component in groups[j][name]]
                chosen += [_between(rng, component, met) for component in taken]
            else:
                chosen += _reshaped(rng, join, taken)
        chosen = chosen[:most]
        if len(chosen) >= min(2, len(roles)):
            with suppress(CancelledError):
                child = settled(joined(join, *chosen))
                if child not in parents:
                    return Proposal(child, "Parts of the parents joined")
    changed = vary(rng, parents[0], offered, most)
    return Proposal(
        changed.root, "The parents share all parts; " + changed.origin[0].lower() + changed.origin[1:]
    )


def _by_role(root: Node) -> dict[Role, list[Component]]:
    groups: dict[Role, list[Component]] = {}
    for node, number in components(root):
        groups.setdefault(role(node), []).append((node, number))
    return groups


def _between(rng: np.random.Generator, component: Component, met: list[Component]) -> Component:
    """Return a component with a number between those of all components of its form, or near its own."""
    node, number = component
    alike = [x for n, x in met if skeleton(n) == skeleton(node) and x * number > 0]
    low, high = min(alike, key=abs), max(alike, key=abs)
    if low == high:
        return node, near(rng, number, 0.1)
    return node, near(rng, low * (high / low) ** float(rng.random()), 0.0)


def components_for(rng: np.random.Generator, root: Node, join: Join) -> tuple[Component, ...]:
    """Return the parts of a rule in shapes that suit a sum or a product."""
    if join_of(root) == join:
        return components(root)
    return tuple(part for parts in _by_role(root).values() for part in _reshaped(rng, join, parts))


def _reshaped(rng: np.random.Generator, join: Join, parts: list[Component]) -> list[Component]:
    """Make factors of the terms of one role, or one term of its factors; what is squashed is taken bare."""
    if join == "product":
        return [as_factor(rng, _bare(node, SQUASHES)) for node, _ in parts]
    node, exponent = parts[0]
    if len(parts) == 1 and exponent > 0 and _bare(node) != node:
        return [as_term(rng, _bare(node))]
    return [as_term(rng, product(*parts))]


def _bare(node: Node, kinds: tuple[Kind, ...] = _SHAPES) -> Node:
    """Return what a node of one of `kinds` shapes, or any other node as it is."""
    return node.parts[0] if isinstance(node, Operation) and node.kind in kinds else node


def vary(
    rng: np.random.Generator, parent: Node, offered: Sequence[int] = PLAIN, most: int = MOST_COMPONENTS
) -> Proposal:
    """Operator m1: one change of form, drawn from those that apply."""
    moves: tuple[_Move, ...] = (
        partial(_add, most=most),
        _drop,
        _exchange_feature,
        _exchange_pair,
        _reshape,
        _turn_over,
    )
    for _ in range(_TRIES):
        with suppress(CancelledError):
            changed = pick(rng, moves)(rng, parent, offered)
            if changed is not None and skeleton(changed.root) != skeleton(parent):
                return changed
    return Proposal(sample_rule(rng, offered), "Drawn afresh, as the parent cannot be varied")


_Move = Callable[[np.random.Generator, Node, Sequence[int]], Proposal | None]


def _add(rng: np.random.Generator, root: Node, offered: Sequence[int], most: int) -> Proposal | None:
    if len(components(root)) >= most:
        return None
    part = part_of(rng, pick(rng, roles_of(offered)), frozenset(leaves(root)), offered)
    join = join_of(root)
    new = joined(join, (root, 1.0), as_component(rng, join, part))
    return Proposal(settled(new), f"The parent with {describe(part)} added")


def _drop(rng: np.random.Generator, root: Node, offered: Sequence[int]) -> Proposal | None:
    parts = components(root)
    if len(parts) < 2:
        return None
    lost = pick(rng, range(len(parts)))
    kept = [part for i, part in enumerate(parts) if i != lost]
    return Proposal(settled(joined(join_of(root), *kept)), f"The parent without {describe(parts[lost][0])}")


def _exchange_feature(rng: np.random.Generator, root: Node, offered: Sequence[int]) -> Proposal | None:
    old = pick(rng, leaves(root))
    new = feature_of(rng, role_of_feature(old), frozenset(leaves(root)), offered)
    if new in leaves(root):
        return None
    origin = f"The parent with {describe(Leaf(new))} in place of {describe(Leaf(old))}"
    return Proposal(settled(replaced(root, Leaf(old), Leaf(new))), origin)


def _exchange_pair(rng: np.random.Generator, root: Node, offered: Sequence[int]) -> Proposal | None:
    """Join two features otherwise, or join a feature with another of its role."""
    pairs = [part for part in walk(root) if isinstance(part, Operation) and part.kind in (*PAIRS, "blend")]
    old: Node
    if pairs:
        old = pick(rng, pairs)
        new = paired(rng, *old.parts)
    else:
        old = Leaf(pick(rng, leaves(root)))
        second = feature_of(rng, role_of_feature(old.feature), frozenset(leaves(root)), offered)
        if second in leaves(root):
            return None
        new = paired(rng, old, Leaf(second))
    if skeleton(new) == skeleton(old):
        return None
    origin = f"The parent with {describe(new)} in place of {describe(old)}"
    return Proposal(settled(replaced(root, old, new)), origin)


def _reshape(rng: np.random.Generator, root: Node, offered: Sequence[int]) -> Proposal | None:
    parts, join = list(components(root)), join_of(root)
    at = int(rng.integers(len(parts)))
    node, number = parts[at]
    bare = _bare(node)
    if join == "product" and bare != node:
        new = bare
    elif join == "product":
        new = Operation(pick(rng, _SHAPES), (node,), (near(rng, 1.0, 0.5),))
        number = math.copysign(1.0, number)
    elif bare != node:
        others = [kind for kind in SQUASHES if not (isinstance(node, Operation) and node.kind == kind)]
        new = Operation(pick(rng, others), (bare,), (near(rng, 1.0, 0.5),))
    else:
        new = Operation("log1p", (node,), (near(rng, 1.0, 0.5),))
    parts[at] = new, number
    return Proposal(settled(joined(join, *parts)), f"The parent with {describe(new)} for {describe(node)}")


def _turn_over(rng: np.random.Generator, root: Node, offered: Sequence[int]) -> Proposal | None:
    """Make a sum of a product or a product of a sum."""
    if join_of(root) == "sum":
        factors = components_for(rng, root, "product")
        return Proposal(settled(product(*factors)), "The parent's parts multiplied instead of added")
    if len(_by_role(root)) > 1:
        terms = components_for(rng, root, "sum")
        return Proposal(settled(weighted_sum(*terms)), "The parent's parts added instead of multiplied")
    return None


def tune(
    rng: np.random.Generator, parent: Node, offered: Sequence[int] = PLAIN, most: int = MOST_COMPONENTS
) -> Proposal:
    """Operator m2: other numbers in the same form."""
    spread = float(rng.choice([0.12, 0.3, 0.6]))
    for _ in range(_TRIES):

        def change(value: float) -> float:
            return near(rng, value, spread) if rng.random() < 0.6 else value

        child = settled(with_numbers(parent, change))
        if child != settled(parent):
            return Proposal(child, "The parent with other numbers")
    return vary(rng, parent, offered, most)  # a rule without numbers has none to change
