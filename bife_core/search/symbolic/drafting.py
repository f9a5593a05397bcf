"""Rules fitted to decisions: factors added one by one, or formulas bred.

Breeding is genetic programming from fitted formulas: other parts and shapes, exponents fitted anew, small ones first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from bife_core.search.generators.offline.expression import (
    CancelledError,
    Leaf,
    Node,
    form,
    join_of,
    leaves,
    terms_of,
)
from bife_core.search.generators.offline.operators import MOST_TERMS, pick, recombine, sample_rule, tune, vary
from bife_core.search.generators.offline.source import read
from bife_core.search.symbolic.fitting import Fitted, Fitter

_POPULATION: Final = 24  # formulas that survive a round of breeding
_FRESH: Final = 0.5  # fresh formulas among those breeding begins with, as a share of the population


def fit_rules(
    fitter: Fitter,
    rng: np.random.Generator,
    *,
    terms: int,
    children: int,
    niche: int = 0,
    parents: Sequence[str] = (),
    others: Sequence[str] = (),
) -> list[Fitted]:
    """Return fitted rules, the best first; bred ones are of other forms than selected ones, parents and other rules.

    `children` are formulas that are bred; with 0 one factor is added after the other. `niche` is how many kinds of
    features (roles) the rule does without (`Fitter.offered`), since all rules that rest on what imitates best may solve
    badly. `parents` and `others` are sources; what is outside the grammar or the niche is passed over.
    """
    path = fitter.select(terms, niche)
    if not path or not children:
        return path[-1:]
    offered = set(fitter.offered(niche))
    shown, had = [tree for tree in _trees(parents) if offered.issuperset(leaves(tree))], _trees(others)
    founders = [*path, *(fitted for tree in shown if (fitted := fitter.fit(tree)) is not None)]
    old = {form_of(root) for root in (*(fitted.root for fitted in founders), *shown, *had)}
    bred = breed(fitter, founders, rng, terms=terms, children=children, niche=niche)
    return [fitted for fitted in bred if form_of(fitted.root) not in old]


def breed(
    fitter: Fitter,
    founders: Iterable[Fitted],
    rng: np.random.Generator,
    *,
    terms: int,
    children: int,
    niche: int = 0,
) -> list[Fitted]:
    """Return all formulas made from founders and fresh ones, lowest information criterion first, one of each form."""
    made: dict[Hashable, Fitted] = {}
    offered = fitter.offered(niche)

    def enter(root: Node) -> None:
        # Children that are too large are passed over: cut down to size they would all keep the same parts.
        fitted = fitter.fit(root) if len(terms_of(root)) <= terms else None
        if fitted is not None:
            key = form_of(fitted.root)
            if key not in made or fitted.information < made[key].information:
                made[key] = fitted

    def best() -> list[Fitted]:
        return sorted(made.values(), key=lambda fitted: fitted.information)

    for founder in founders:
        enter(founder.root)
    for _ in range(round(_FRESH * _POPULATION)):
        enter(sample_rule(rng, offered))
    alive, most = best()[:_POPULATION], max(MOST_TERMS, terms)
    for born in range(1, children + 1):
        # The better of two drawn has the child.
        mother, father = (alive[int(rng.integers(len(alive), size=2).min())].root for _ in range(2))
        try:
            move = pick(rng, (vary, None, tune))  # None recombines
            child = move(rng, mother, offered, most) if move else None
            enter(child or recombine(rng, (mother, father), offered, most))
        except CancelledError:
            continue
        if born % _POPULATION == 0:
            alive = best()[:_POPULATION]
    return best()


def form_of(root: Node) -> Hashable:
    """Return what formulas have in common that differ in numbers and in the order of their parts alone."""
    bare = form(root)
    return bare if isinstance(bare, Leaf) else (join_of(bare), bare.kind, frozenset(terms_of(bare)))


def _trees(sources: Sequence[str]) -> list[Node]:
    return [tree for source in sources if (tree := read(source)) is not None]
