"""Genetic programming from fitted formulas: other parts and shapes, exponents fitted anew, small ones preferred."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

import numpy as np

from bife_core.generators.offline.expression import CancelledError, Leaf, Node, components, form, join_of
from bife_core.generators.offline.operators import MOST_COMPONENTS, pick, recombine, sample_rule, tune, vary
from bife_core.search.types import Fit
from bife_core.symbolic.fitting import Fitted, Fitter

_FRESH: Final = 0.5
"""Fresh formulas among those breeding begins with, as a share of the population."""


def breed(
    fitter: Fitter, founders: Iterable[Fitted], fit: Fit, population: int, rng: np.random.Generator
) -> list[Fitted]:
    """Return all formulas made from founders and fresh ones, lowest information criterion first, one of each form.

    `population` is how many survive a round; `fit` says how many are made and of which features.
    """
    made: dict[Hashable, Fitted] = {}
    offered = fitter.offered(fit.niche)

    def enter(root: Node) -> None:
        # Children that are too large are passed over: cut down to size they would all keep the same parts.
        fitted = fitter.fit(root) if len(components(root)) <= fit.terms else None
        if fitted is not None:
            key = form_of(fitted.root)
            if key not in made or fitted.information < made[key].information:
                made[key] = fitted

    def best() -> list[Fitted]:
        return sorted(made.values(), key=lambda fitted: fitted.information)

    for founder in founders:
        enter(founder.root)
    for _ in range(round(_FRESH * population)):
        enter(sample_rule(rng, offered))
    alive, most = best()[:population], max(MOST_COMPONENTS, fit.terms)
    for born in range(1, fit.children + 1):
        # The better of two drawn has the child.
        mother, father = (alive[int(rng.integers(len(alive), size=2).min())].root for _ in range(2))
        try:
            match pick(rng, ("vary", "recombine", "tune")):
                case "vary":
                    enter(vary(rng, mother, offered, most))
                case "recombine":
                    enter(recombine(rng, (mother, father), offered, most))
                case _:
                    enter(tune(rng, mother, offered, most))
        except CancelledError:
            continue
        if born % population == 0:
            alive = best()[:population]
    return best()


def form_of(root: Node) -> Hashable:
    """Return what formulas have in common that differ in numbers and in the order of their parts alone."""
    bare = form(root)
    return bare if isinstance(bare, Leaf) else (join_of(bare), bare.kind, frozenset(components(bare)))
