"""The grammar's syntax trees: formulas that are positive and finite wherever the features are finite.

Every leaf is a feature's size with a small floor, and every operation keeps positive numbers positive. So
divisions, roots and powers need no further guards, and a variable without pseudocosts or cutoffs is never
multiplied by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from bife_core.features import FEATURES, SIGNED, Role

FLOOR: Final = 1e-6
"""Least value of a leaf."""

PairKind = Literal["min", "max", "geometric", "harmonic"]
SquashKind = Literal["log1p", "tanh", "saturation"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """Size of a feature, at least `FLOOR`."""

    feature: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Smaller, larger, geometric or harmonic mean of two parts."""

    kind: PairKind
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Blend:
    """`share` x the larger part + (1 - `share`) x the smaller one, a classical way to join two gains."""

    share: float
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Squash:
    """A concave function: log(1 + scale x part), tanh(scale x part) or part / (part + scale)."""

    kind: SquashKind
    scale: float
    part: Node


@dataclass(frozen=True, slots=True)
class Bonus:
    """1 + `weight` x part: a factor that is neutral where the part is 0."""

    weight: float
    part: Node


@dataclass(frozen=True, slots=True)
class Product:
    """Product of powers; build it with `product`."""

    factors: tuple[tuple[Node, float], ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Weighted sum with positive weights; build it with `weighted_sum`."""

    terms: tuple[tuple[Node, float], ...]


Node = Leaf | Pair | Blend | Squash | Bonus | Product | Sum


def signed(feature: int) -> bool:
    """Whether a feature can be negative; a leaf then takes its absolute value."""
    return FEATURES[feature].low == SIGNED


def centred(feature: int) -> bool:
    """Whether a feature lies between -1 and 1; a leaf then adds 1 to it."""
    return FEATURES[feature].low == -1.0


class CancelledError(ValueError):
    """All factors of a product cancel out: the change that led there leaves no rule."""


def tidy(number: float) -> float:
    """Return `number` with two significant digits, as a person would write it."""
    return float(f"{number:.2g}")


def product(*factors: tuple[Node, float]) -> Node:
    """Return the product of powers: nested products are opened, equal factors joined, zero exponents dropped.

    Raises
    ------
    CancelledError
        If nothing is left.
    """
    joined: dict[Node, float] = {}
    for node, exponent in factors:
        inner = node.factors if isinstance(node, Product) else ((node, 1.0),)
        for part, power in inner:
            joined[part] = joined.get(part, 0.0) + power * exponent
    kept = tuple((node, tidy(exponent)) for node, exponent in joined.items() if tidy(exponent) != 0.0)
    if not kept:
        raise CancelledError("all factors cancel out")
    if len(kept) == 1 and kept[0][1] == 1.0:
        return kept[0][0]
    return Product(kept)


def weighted_sum(*terms: tuple[Node, float]) -> Node:
    """Return the weighted sum: nested sums are opened and equal terms joined.

    Raises
    ------
    ValueError
        If a weight is not positive.
    """
    joined: dict[Node, float] = {}
    for node, weight in terms:
        inner = node.terms if isinstance(node, Sum) else ((node, 1.0),)
        for part, share in inner:
            joined[part] = joined.get(part, 0.0) + share * weight
    if min(joined.values()) <= 0.0:
        raise ValueError(f"weights must be positive, found {min(joined.values())}")
    kept = tuple((node, tidy(weight)) for node, weight in joined.items())
    return kept[0][0] if len(kept) == 1 else Sum(kept)


def children(node: Node) -> tuple[Node, ...]:
    """Return the parts of `node` in the order they are written."""
    match node:
        case Leaf():
            return ()
        case Pair() | Blend():
            return (node.left, node.right)
        case Squash() | Bonus():
            return (node.part,)
        case Product():
            return tuple(part for part, _ in node.factors)
        case Sum():
            return tuple(part for part, _ in node.terms)


def numbers(node: Node) -> tuple[float, ...]:
    """Return the numbers of `node` itself: exponents, weights, a scale or a share; not those of its parts."""
    match node:
        case Leaf() | Pair():
            return ()
        case Blend():
            return (node.share,)
        case Squash():
            return (node.scale,)
        case Bonus():
            return (node.weight,)
        case Product():
            return tuple(exponent for _, exponent in node.factors)
        case Sum():
            return tuple(weight for _, weight in node.terms)


def rebuilt(node: Node, parts: tuple[Node, ...], values: tuple[float, ...]) -> Node:
    """Return a node of the same kind with other parts and numbers."""
    match node:
        case Leaf():
            return node
        case Pair():
            return Pair(node.kind, *parts)
        case Blend():
            return Blend(tidy(min(values[0], 0.99)), *parts)
        case Squash():
            return Squash(node.kind, tidy(values[0]), *parts)
        case Bonus():
            return Bonus(tidy(values[0]), *parts)
        case Product():
            return product(*zip(parts, values, strict=True))
        case Sum():
            return weighted_sum(*zip(parts, values, strict=True))


def with_numbers(node: Node, change: Callable[[float], float]) -> Node:
    """Return `node` with `change` applied to all its numbers, from the root down in writing order."""
    values = tuple(change(value) for value in numbers(node))
    return rebuilt(node, tuple(with_numbers(part, change) for part in children(node)), values)


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its parts, each before its own parts."""
    yield node
    for part in children(node):
        yield from walk(part)


def replaced(node: Node, old: Node, new: Node) -> Node:
    """Return `node` with every part equal to `old` replaced by `new`."""
    if node == old:
        return new
    return rebuilt(node, tuple(replaced(part, old, new) for part in children(node)), numbers(node))


def leaves(node: Node) -> tuple[int, ...]:
    """Return the indices of the features `node` reads, each once, in writing order."""
    return tuple(dict.fromkeys(part.feature for part in walk(node) if isinstance(part, Leaf)))


def skeleton(node: Node) -> Node:
    """Return `node` with its numbers made alike: trees that differ in numbers alone have one skeleton."""
    match node:
        case Leaf():
            return node
        case Product():
            return Product(
                tuple((skeleton(part), 1.0 if exponent > 0 else -1.0) for part, exponent in node.factors)
            )
        case Sum():
            return Sum(tuple((skeleton(part), 1.0) for part, _ in node.terms))
        case _:
            return rebuilt(
                node, tuple(skeleton(part) for part in children(node)), (0.5,) * len(numbers(node))
            )


def components(root: Node) -> tuple[tuple[Node, float], ...]:
    """Return the factors or terms of a rule with their exponents or weights; any other is one component."""
    match root:
        case Product():
            return root.factors
        case Sum():
            return root.terms
        case _:
            return ((root, 1.0),)


def settled(root: Node) -> Node:
    """Return the rule with the numbers that cannot change any decision taken out.

    A positive power of a product and a positive multiple of a sum order candidates in the same way, so the
    first positive exponent and the first weight become 1.
    """
    match root:
        case Product():
            lead = next((exponent for _, exponent in root.factors if exponent > 0), 1.0)
            return product(*((part, exponent / lead) for part, exponent in root.factors))
        case Sum():
            lead = root.terms[0][1]
            return weighted_sum(*((part, weight / lead) for part, weight in root.terms))
        case _:
            return root


def role_of_feature(index: int) -> Role:
    """Return what a feature is good for in a rule."""
    return FEATURES[index].group.role


def role(node: Node) -> Role:
    """Return what a component is good for: the role of its first feature, or "gain" if any feature has it."""
    roles = [role_of_feature(index) for index in leaves(node)]
    return "gain" if "gain" in roles else roles[0]
