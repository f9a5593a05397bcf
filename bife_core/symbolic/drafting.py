"""One rule fitted to decisions, in a worker process: factors added one by one, or formulas bred.

Breeding is genetic programming from fitted formulas: other parts and shapes, exponents fitted anew, small ones first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from bife_core.decisions.recorded import Decisions, numbers_in
from bife_core.generators.base import Draft
from bife_core.generators.offline.expression import (
    CancelledError,
    Leaf,
    Node,
    form,
    join_of,
    leaves,
    terms_of,
)
from bife_core.generators.offline.operators import MOST_TERMS, pick, recombine, sample_rule, tune, vary
from bife_core.generators.offline.source import describe, read, write
from bife_core.sandbox import Workers
from bife_core.search.types import Fit, Sample, SampleRequest
from bife_core.symbolic.fitting import Columns, Fitted, Fitter

_POPULATION: Final = 24
_FRESH: Final = 0.5
"""Fresh formulas among those breeding begins with, as a share of the population."""
_GOOD: Final = 0.15
"""Share of the formulas made that are good enough to become a rule."""

_ROOM_MB: Final = 3072.0
_ROOM_PER_NUMBER: Final = 96.0
"""Bytes of memory besides `_ROOM_MB` for each feature of each candidate: it is read, sorted into columns, and its
logarithm is kept in seven shapes."""


def fit_draft(request: SampleRequest, decisions: Path, pool: Workers, known: Sequence[Sample] = ()) -> Draft:
    """Return a rule fitted to recorded decisions; a bred one is of another form than what the search has (`known`)."""
    assert request.fit is not None
    found = pool.submit(
        "bife_core.symbolic.drafting:work",
        {
            "decisions": str(decisions),
            "fit": request.fit.model_dump(),
            "seed": request.seed,
            "parents": [parent.source for parent in request.parents if parent.source is not None],
            "known": [sample.source for sample in known if sample.source is not None],
        },
        limit_s=900.0,
        memory_mb=room_for(decisions),
        reads=[decisions],
    ).result()
    return Draft(key=request.id, generator="symbolic", model="", **found)


def room_for(decisions: Path | None) -> float:
    """Return the megabytes of address space that fitting to a file of decisions may take."""
    numbers = 0 if decisions is None else numbers_in(decisions)
    return _ROOM_MB + _ROOM_PER_NUMBER * numbers / 2**20


def work(
    decisions: str, fit: dict[str, int], seed: int, parents: list[str], known: list[str]
) -> dict[str, str | float]:
    """Fit a rule; what `fit_draft` calls in a worker."""
    began_s = time.process_time()
    rng = np.random.Generator(np.random.PCG64(seed))
    asked = Fit.model_validate(fit)
    formulas = fit_rules(_fitter(decisions), asked, rng, parents, known)
    if not formulas:
        nothing = "No other formula distinguishes the candidates of the recorded decisions."
        return {"failure": nothing, "seconds": time.process_time() - began_s}
    # Far down the list are formulas that were made and never improved upon.
    chosen = formulas[asked.rank % math.ceil(_GOOD * len(formulas))]
    how = "bred" if asked.children else "its factors added one by one"
    return {
        "source": write(chosen.root),
        "thought": f"Fitted to the recorded decisions, {how}: {describe(chosen.root)}.",
        "seconds": time.process_time() - began_s,
    }


def fit_rules(
    fitter: Fitter, fit: Fit, rng: np.random.Generator, parents: Sequence[str] = (), known: Sequence[str] = ()
) -> list[Fitted]:
    """Return fitted rules, the best first; bred ones are of other forms than selected ones, parents and known rules.

    `parents` and `known` are sources; what is outside the grammar is passed over, and no rule is bred from one that
    reads what its niche does without.
    """
    path = fitter.select(fit.terms, fit.niche)
    if not path or not fit.children:
        return path[-1:]
    offered = set(fitter.offered(fit.niche))
    shown, had = [tree for tree in _trees(parents) if offered.issuperset(leaves(tree))], _trees(known)
    founders = [*path, *(fitted for tree in shown if (fitted := fitter.fit(tree)) is not None)]
    old = {form_of(root) for root in (*(fitted.root for fitted in founders), *shown, *had)}
    bred = breed(fitter, founders, fit, _POPULATION, rng)
    return [fitted for fitted in bred if form_of(fitted.root) not in old]


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
        fitted = fitter.fit(root) if len(terms_of(root)) <= fit.terms else None
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
    alive, most = best()[:population], max(MOST_TERMS, fit.terms)
    for born in range(1, fit.children + 1):
        # The better of two drawn has the child.
        mother, father = (alive[int(rng.integers(len(alive), size=2).min())].root for _ in range(2))
        try:
            move = pick(rng, (vary, None, tune))  # None recombines
            child = move(rng, mother, offered, most) if move else None
            enter(child or recombine(rng, (mother, father), offered, most))
        except CancelledError:
            continue
        if born % population == 0:
            alive = best()[:population]
    return best()


def form_of(root: Node) -> Hashable:
    """Return what formulas have in common that differ in numbers and in the order of their parts alone."""
    bare = form(root)
    return bare if isinstance(bare, Leaf) else (join_of(bare), bare.kind, frozenset(terms_of(bare)))


def _trees(sources: Sequence[str]) -> list[Node]:
    return [tree for source in sources if (tree := read(source)) is not None]


@lru_cache(maxsize=2)
def _fitter(path: str) -> Fitter:
    return Fitter(Columns(Decisions.load(Path(path))))
