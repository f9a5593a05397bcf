"""ReEvo's operators on syntax trees: crossover and mutation that follow the features a reflection speaks for."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import numpy as np

from bife_core.features import FEATURES
from bife_core.generators.offline.expression import (
    CancelledError,
    Leaf,
    Node,
    components,
    join_of,
    joined,
    leaves,
    role,
    settled,
)
from bife_core.generators.offline.operators import MOST_COMPONENTS, Proposal, components_for, tune, vary
from bife_core.generators.offline.priors import Component, as_component, near
from bife_core.generators.offline.reflection import Hints

_TRIES: Final = 12
_KEPT: Final = 0.85
_TAKEN: Final = 0.4


def cross(rng: np.random.Generator, worse: Node, better: Node, hints: Hints) -> Proposal:
    """Join two rules: the better one's parts, above all those the hint speaks for, and some of the worse one's.

    Parts with a feature the hint speaks for are always kept or taken, those with one it speaks against are not taken
    from the worse rule; numbers move a little.
    """
    join, own = join_of(better), components(better)
    other = components_for(rng, worse, join)
    roles = {role(node) for node, _ in own}
    for _ in range(_TRIES):
        chosen: list[Component] = [
            (node, near(rng, number, 0.1))
            for node, number in own
            if _favoured(node, hints) or rng.random() < _KEPT
        ]
        chosen += [
            part
            for part in other
            if _favoured(part[0], hints)
            or (role(part[0]) not in roles and not _avoided(part[0], hints) and rng.random() < _TAKEN)
        ]
        with suppress(CancelledError, ValueError):
            child = settled(joined(join, *chosen[:MOST_COMPONENTS]))
            if child not in (worse, better):
                return Proposal(child, f"The better rule joined with the worse one{_because(hints)}")
    changed = vary(rng, better)
    return Proposal(changed.root, f"The better rule changed{_because(hints)}")


def mutate(rng: np.random.Generator, elite: Node, hints: Hints) -> Proposal:
    """Change the best rule: add a part for a feature the lesson speaks for, drop one it speaks against, or vary."""
    wanted = [index for index in hints.favoured if index not in leaves(elite)]
    parts, join = components(elite), join_of(elite)
    unwanted = [node for node, _ in parts if _avoided(node, hints) and not _favoured(node, hints)]
    draw = rng.random()
    with suppress(CancelledError, ValueError):
        if wanted and draw < 0.5 and len(parts) < MOST_COMPONENTS:
            feature = wanted[int(rng.integers(len(wanted)))]
            new = as_component(rng, join, Leaf(feature))
            root = settled(joined(join, (elite, 1.0), new))
            if root != elite:
                return Proposal(root, f"The best rule with {FEATURES[feature].name} added")
        if unwanted and len(parts) > 1 and draw < 0.7:
            lost = unwanted[int(rng.integers(len(unwanted)))]
            kept = [part for part in parts if part[0] != lost]
            return Proposal(
                settled(joined(join, *kept)), "The best rule without what the lesson speaks against"
            )
    return (tune if draw < 0.85 else vary)(rng, elite)


def _favoured(node: Node, hints: Hints) -> bool:
    return not set(leaves(node)).isdisjoint(hints.favoured)


def _avoided(node: Node, hints: Hints) -> bool:
    return not set(leaves(node)).isdisjoint(hints.avoided)


def _because(hints: Hints) -> str:
    names = ", ".join(FEATURES[index].name for index in hints.favoured[:3])
    return f", for {names}" if names else ""
