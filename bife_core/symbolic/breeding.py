"""Genetic programming from fitted formulas: other parts and shapes, exponents fitted anew, small ones preferred."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from bife_core.generators.offline.expression import (
    CancelledError,
    Leaf,
    Node,
    components,
    join_of,
    skeleton,
)
from bife_core.generators.offline.operators import MOST_COMPONENTS, recombine, tune, vary
from bife_core.generators.offline.priors import pick, sample_rule
from bife_core.search.types import Fit
from bife_core.symbolic.fitting import Fitted, Fitter

_STRANGERS: Final = 0.5
"""Fresh formulas among those breeding begins with, as a share of the population."""


def breed(
    fitter: Fitter, founders: Iterable[Fitted], fit: Fit, population: int, rng: np.random.Generator
) -> list[Fitted]:
    """Breed formulas of low information criterion.

    Parameters
    ----------
    founders : iterable of Fitted
        What breeding begins with, beside fresh formulas.
    fit : Fit
        How many formulas are made and fitted, how many factors they may have, and of which features.
    population : int
        Formulas that survive a round.

    Returns
    -------
    list of Fitted
        All that were made, the best first, each of another form.
    """
    known: dict[Hashable, Fitted] = {}
    offered = fitter.offered(fit.niche)

    def enter(root: Node) -> None:
        if len(components(root)) > fit.terms:
            return
        fitted = fitter.fit(root)
        if fitted is not None:
            form = form_of(fitted.root)
            if form not in known or fitted.information < known[form].information:
                known[form] = fitted

    def best() -> list[Fitted]:
        return sorted(known.values(), key=lambda fitted: fitted.information)

    for founder in founders:
        enter(founder.root)
    for _ in range(round(_STRANGERS * population)):
        enter(sample_rule(rng, offered))
    alive = best()[:population]
    # Children that are too large are passed over: cut down to size they would all keep the same parts.
    most = max(MOST_COMPONENTS, fit.terms)
    for born in range(1, fit.children + 1):
        child = _child(alive, rng, offered, most)
        if child is not None:
            enter(child)
        if born % population == 0:
            alive = best()[:population]
    return best()


def _child(alive: list[Fitted], rng: np.random.Generator, offered: Sequence[int], most: int) -> Node | None:
    # The better of two drawn has the child.
    mother, father = (alive[int(rng.integers(len(alive), size=2).min())].root for _ in range(2))
    try:
        match pick(rng, ("vary", "recombine", "tune")):
            case "vary":
                return vary(rng, mother, offered, most).root
            case "recombine":
                return recombine(rng, (mother, father), offered, most).root
            case _:
                return tune(rng, mother, offered, most).root
    except CancelledError:
        return None


def form_of(root: Node) -> Hashable:
    """Return what formulas have in common that differ in numbers and in the order of their parts alone."""
    bare = skeleton(root)
    if isinstance(bare, Leaf):
        return bare
    return join_of(bare), bare.kind, frozenset(components(bare))
