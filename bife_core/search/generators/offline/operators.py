"""What the grammar draws, each role, feature, shape and direction as likely, and the five operators on its trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

import numpy as np

from bife_core.language.components import BRANCHING
from bife_core.language.features import Role
from bife_core.search.generators.offline.expression import (
    PAIRS,
    SQUASHES,
    CancelledError,
    Join,
    Kind,
    Leaf,
    Node,
    Operation,
    Term,
    form,
    join_of,
    joined,
    leaves,
    leaves_of,
    normalised,
    product,
    replaced,
    role,
    terms_of,
    tidy,
    walk,
    with_numbers,
)

T = TypeVar("T")

PLAIN: Final = leaves_of(BRANCHING)
"""Leaves that may be drawn where a caller does not restrict them."""
MOST_TERMS: Final = 5
"""Parts of a rule at most, unless more are asked for."""

_SHAPES: Final[tuple[Kind, ...]] = (*SQUASHES, "bonus")
_PAIRED: Final = 0.3  # share of parts that join two features of a role
_FRESH: Final = 4
"""Rules e1 chooses from: more would be stranger still, and stranger rules are rarely good ones."""
_TRIES: Final = 24


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Return one of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def near(rng: np.random.Generator, value: float, spread: float = 0.5) -> float:
    """Return a number around `value` (log-normal, `spread` in log units) with two digits."""
    return tidy(value * float(np.exp(rng.normal(0.0, spread))))


def sample_rule(rng: np.random.Generator, offered: Sequence[Leaf] = PLAIN) -> Node:
    """Operator i1: two to four parts of different roles, multiplied or added."""
    roles = list(dict.fromkeys(map(role, offered)))
    drawn = rng.permutation(len(roles))[: pick(rng, (2, 3, 4))]
    join: Join = pick(rng, ("product", "sum"))
    chosen = [_term(rng, join, _part(rng, roles[int(place)], (), offered)) for place in drawn]
    return normalised(joined(join, *chosen))


def rule_over(rng: np.random.Generator, features: Sequence[Leaf]) -> Node:
    """Return a product over the features that another rule reads, two of a role at most."""
    chosen: dict[Role, Node] = {}
    for leaf in features:
        of_role = chosen.get(role(leaf))
        if not isinstance(of_role, Operation):
            pair = leaf if of_role is None else Operation(pick(rng, PAIRS), (of_role, leaf))
            chosen[role(leaf)] = pair
    return normalised(product(*((part, near(rng, 1.0)) for part in chosen.values())))


def _feature(rng: np.random.Generator, of: Role, without: Sequence[Leaf], offered: Sequence[Leaf]) -> Leaf:
    """Return an offered leaf of a role, one in `without` only if there is no other."""
    fitting = [leaf for leaf in offered if role(leaf) == of]
    return pick(rng, [leaf for leaf in fitting if leaf not in without] or fitting)


def _part(rng: np.random.Generator, of: Role, without: Sequence[Leaf], offered: Sequence[Leaf]) -> Node:
    """Return an unshaped part of a role: one feature, or two joined."""
    first = _feature(rng, of, without, offered)
    if rng.random() >= _PAIRED:
        return first
    return Operation(pick(rng, PAIRS), (first, _feature(rng, of, (*without, first), offered)))


def _term(rng: np.random.Generator, join: Join, part: Node) -> Term:
    """Return a term, squashed lest its scale drown the others, or a factor: shaped or not, to divide by or not."""
    kinds: Sequence[Kind | None] = SQUASHES if join == "sum" else (None, *_SHAPES)
    kind = pick(rng, kinds)
    shaped = part if kind is None else Operation(kind, (part,), (near(rng, 1.0),))
    return shaped, near(rng, 1.0) * (1.0 if join == "sum" else pick(rng, (1.0, -1.0)))


def _by_role(root: Node) -> dict[Role, list[Term]]:
    groups: dict[Role, list[Term]] = {}
    for node, number in terms_of(root):
        groups.setdefault(role(node), []).append((node, number))
    return groups


def _converted(rng: np.random.Generator, join: Join, root: Node, parts: list[Term]) -> list[Term]:
    """Return the parts of one role of a rule in shapes that suit a product or a sum: one term of all its factors."""
    if join_of(root) == join:
        return parts
    return [_term(rng, join, part) for part in ([product(*parts)] if join == "sum" else map(_bare, parts))]


def _bare(component: Term) -> Node:
    """Return what a squash or a bonus shapes, or any other part as it is."""
    node, _ = component
    return node.parts[0] if isinstance(node, Operation) and node.kind in _SHAPES else node


def explore(rng: np.random.Generator, parents: Sequence[Node], offered: Sequence[Leaf] = PLAIN) -> Node:
    """Operator e1: of several fresh rules the one least like all parents in features and in form."""
    drawn = [sample_rule(rng, offered) for _ in range(_FRESH)]
    return max(drawn, key=lambda rule: min(distance(rule, parent) for parent in parents))


def distance(first: Node, other: Node) -> float:
    """Return how unlike two rules are: shares of features and of kinds of parts that they do not share."""
    features = set(leaves(first)), set(leaves(other))
    kinds = tuple(
        {"leaf" if isinstance(part, Leaf) else part.kind for part in walk(rule)} for rule in (first, other)
    )
    return sum(1.0 - len(a & b) / len(a | b) for a, b in (features, kinds))


def recombine(
    rng: np.random.Generator, parents: Sequence[Node], offered: Sequence[Leaf] = PLAIN, most: int = MOST_TERMS
) -> Node:
    """Operator e2: a role that several parents fill is kept, in the form of one; another more often than not."""
    groups = [_by_role(parent) for parent in parents]
    roles = list(dict.fromkeys(name for group in groups for name in group))
    for _ in range(_TRIES):
        join, chosen = join_of(pick(rng, parents)), []
        for name in roles:
            having = [place for place, group in enumerate(groups) if name in group]
            if len(having) > 1 or len(parents) == 1 or rng.random() >= 0.3:
                place = pick(rng, having)
                chosen += _converted(rng, join, parents[place], groups[place][name])
        if len(chosen) >= min(2, len(roles)):
            with suppress(CancelledError):
                child = normalised(joined(join, *chosen[:most]))
                if child not in parents:
                    return child
    return vary(rng, parents[0], offered, most)


def vary(
    rng: np.random.Generator, parent: Node, offered: Sequence[Leaf] = PLAIN, most: int = MOST_TERMS
) -> Node:
    """Operator m1: one change of form, drawn from those that apply."""
    moves: tuple[_Move, ...] = (partial(_add, most=most), _drop, _exchange, _pair, _reshape, _turn_over)
    for _ in range(_TRIES):
        with suppress(CancelledError):
            changed = pick(rng, moves)(rng, parent, offered)
            if changed is not None and form(normalised(changed)) != form(parent):
                return normalised(changed)
    return sample_rule(rng, offered)


_Move = Callable[[np.random.Generator, Node, Sequence[Leaf]], Node | None]


def _add(rng: np.random.Generator, root: Node, offered: Sequence[Leaf], most: int) -> Node | None:
    if len(terms_of(root)) >= most:
        return None
    of = pick(rng, list(dict.fromkeys(map(role, offered))))
    join = join_of(root)
    return joined(join, (root, 1.0), _term(rng, join, _part(rng, of, leaves(root), offered)))


def _drop(rng: np.random.Generator, root: Node, offered: Sequence[Leaf]) -> Node | None:
    parts = list(terms_of(root))
    parts.pop(int(rng.integers(len(parts))))
    return joined(join_of(root), *parts)


def _exchange(rng: np.random.Generator, root: Node, offered: Sequence[Leaf]) -> Node | None:
    """Read another feature of the same role in place of one."""
    old = pick(rng, leaves(root))
    return replaced(root, old, _feature(rng, role(old), leaves(root), offered))


def _pair(rng: np.random.Generator, root: Node, offered: Sequence[Leaf]) -> Node | None:
    """Join two features otherwise, or join a feature with another of its role."""
    pairs = [part for part in walk(root) if isinstance(part, Operation) and part.kind in PAIRS]
    if pairs:
        old = pick(rng, pairs)
        return replaced(root, old, Operation(pick(rng, PAIRS), old.parts))
    first = pick(rng, leaves(root))
    second = _feature(rng, role(first), leaves(root), offered)
    return replaced(root, first, Operation(pick(rng, PAIRS), (first, second)))


def _reshape(rng: np.random.Generator, root: Node, offered: Sequence[Leaf]) -> Node | None:
    """Give a part another shape, or take the one it has."""
    parts, join = list(terms_of(root)), join_of(root)
    at = int(rng.integers(len(parts)))
    node, number = parts[at]
    bare = _bare(parts[at])
    if join == "product" and bare != node:
        parts[at] = bare, number
    else:
        kind = pick(rng, SQUASHES if join == "sum" else _SHAPES)
        parts[at] = Operation(kind, (bare,), (near(rng, 1.0),)), math.copysign(1.0, number)
    return joined(join, *parts)


def _turn_over(rng: np.random.Generator, root: Node, offered: Sequence[Leaf]) -> Node | None:
    """Make a sum of a product or a product of a sum."""
    join: Join = "product" if join_of(root) == "sum" else "sum"
    return joined(
        join, *(new for parts in _by_role(root).values() for new in _converted(rng, join, root, parts))
    )


def tune(
    rng: np.random.Generator, parent: Node, offered: Sequence[Leaf] = PLAIN, most: int = MOST_TERMS
) -> Node:
    """Operator m2: other numbers in the same form."""
    spread = float(rng.choice([0.12, 0.3, 0.6]))
    for _ in range(_TRIES):
        child = normalised(
            with_numbers(parent, lambda value: near(rng, value, spread) if rng.random() < 0.6 else value)
        )
        if child != normalised(parent):
            return child
    return vary(rng, parent, offered, most)  # a rule without numbers has none to change
