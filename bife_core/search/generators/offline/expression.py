"""The grammar's syntax trees: formulas that are positive and finite wherever the features are finite.

Every leaf is a feature's size with a small floor, and every operation keeps positive numbers positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, Literal

from bife_core.language.components import BRANCHING, Component
from bife_core.language.features import SIGNED, Feature, Role

FLOOR: Final = 1e-6
"""Least value of a leaf."""

Join = Literal["product", "sum"]

Kind = Literal["min", "max", "geometric", "harmonic", "log1p", "tanh", "saturation", "bonus", Join]
"""What an operation computes of its parts x and y, with its number c:

- of two parts: the smaller, the larger, their geometric or harmonic mean
- of one part, a concave function: log(1 + c x), tanh(c x) or the saturation x / (x + c)
- of one part, a factor that is neutral where it is 0: the bonus 1 + c x
- of any number of parts, each with a number: a product of powers or a weighted sum; `joined` builds them
"""

PAIRS: Final[tuple[Kind, ...]] = ("min", "max", "geometric", "harmonic")
SQUASHES: Final[tuple[Kind, ...]] = ("log1p", "tanh", "saturation")


@dataclass(frozen=True, slots=True)
class Leaf:
    """Size of a feature of a component, by its index, at least `FLOOR`."""

    feature: int
    component: Component = field(default=BRANCHING, hash=False, repr=False)

    @property
    def about(self) -> Feature:
        """The feature it reads."""
        return self.component.features[self.feature]


@dataclass(frozen=True, slots=True)
class Operation:
    """What joins or shapes other parts; `numbers` holds its exponents or weights, one number, or none."""

    kind: Kind
    parts: tuple[Node, ...]
    numbers: tuple[float, ...] = ()


Node = Leaf | Operation

Term = tuple[Node, float]
"""A part of a rule with its exponent (in a product) or weight (in a sum)."""


def signed(leaf: Leaf) -> bool:
    """Whether a feature can be negative; a leaf then takes its absolute value."""
    return leaf.about.low == SIGNED


def centred(leaf: Leaf) -> bool:
    """Whether a feature lies between -1 and 1; a leaf then adds 1 to it."""
    return leaf.about.low == -1.0


@cache
def leaves_of(component: Component) -> tuple[Leaf, ...]:
    """Return the leaves that formulas of a component may have: one for each feature."""
    return tuple(Leaf(index, component) for index in range(component.n_features))


class CancelledError(ValueError):
    """All factors of a product cancel out: the change that led there leaves no rule."""


def tidy(number: float) -> float:
    """Return `number` with two significant digits, as a person would write it."""
    return float(f"{number:.2g}")


def joined(kind: Join, *parts: Term) -> Node:
    """Return a flat product of powers or weighted sum, without zeros; `CancelledError` if nothing is left."""
    together: dict[Node, float] = {}
    for node, number in parts:
        opened = isinstance(node, Operation) and node.kind == kind
        for part, power in terms_of(node) if opened else ((node, 1.0),):
            together[part] = together.get(part, 0.0) + power * number
    kept = {node: tidy(number) for node, number in together.items() if tidy(number) != 0.0}
    if not kept:
        raise CancelledError("all factors cancel out")
    if len(kept) == 1 and (kind == "sum" or 1.0 in kept.values()):
        return next(iter(kept))
    return Operation(kind, tuple(kept), tuple(kept.values()))


product = partial(joined, "product")


def rebuilt(node: Operation, parts: Iterable[Node], numbers: Iterable[float]) -> Node:
    """Return an operation of the same kind on other parts and with other numbers."""
    if node.kind in ("product", "sum"):
        return joined(node.kind, *zip(parts, numbers, strict=True))
    return Operation(node.kind, tuple(parts), tuple(map(tidy, numbers)))


def with_numbers(node: Node, change: Callable[[float], float]) -> Node:
    """Return `node` with `change` applied to all its numbers, from the root down in writing order."""
    if isinstance(node, Leaf):
        return node
    numbers = [change(number) for number in node.numbers]
    return rebuilt(node, [with_numbers(part, change) for part in node.parts], numbers)


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its parts, each before its own parts."""
    yield node
    if isinstance(node, Operation):
        for part in node.parts:
            yield from walk(part)


def replaced(node: Node, old: Node, new: Node) -> Node:
    """Return `node` with every part equal to `old` replaced by `new`."""
    if node == old:
        return new
    if isinstance(node, Leaf):
        return node
    return rebuilt(node, [replaced(part, old, new) for part in node.parts], node.numbers)


def leaves(node: Node) -> tuple[Leaf, ...]:
    """Return the leaves of `node`, each once, in writing order."""
    return tuple(dict.fromkeys(part for part in walk(node) if isinstance(part, Leaf)))


def form(node: Node) -> Node:
    """Return `node` with its numbers made alike: trees that differ in numbers alone have one form."""
    if isinstance(node, Leaf):
        return node
    signs = tuple(math.copysign(1.0, number) for number in node.numbers)
    return Operation(node.kind, tuple(form(part) for part in node.parts), signs)


def join_of(root: Node) -> Join:
    """Return how the parts of a rule are joined; a single part counts as a product."""
    return "sum" if isinstance(root, Operation) and root.kind == "sum" else "product"


def terms_of(root: Node) -> tuple[Term, ...]:
    """Return the factors or terms of a rule with their exponents or weights; any other rule is one part."""
    match root:
        case Operation("product" | "sum"):
            return tuple(zip(root.parts, root.numbers, strict=True))
    return ((root, 1.0),)


def normalised(root: Node) -> Node:
    """Return the rule with its first positive exponent, or first weight, made 1, which changes no choice."""
    match root:
        case Operation("product" | "sum"):
            lead = next((number for number in root.numbers if number > 0), 1.0)
            return rebuilt(root, root.parts, [number / lead for number in root.numbers])
    return root


def role(node: Node) -> Role:
    """Return what a part is good for: the role of its first feature, or "gain" if any feature has it."""
    if isinstance(node, Leaf):
        return node.about.group.role
    roles = [leaf.about.group.role for leaf in leaves(node)]
    return "gain" if "gain" in roles else roles[0]
